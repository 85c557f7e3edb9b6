"""`blastdoor simulate`: every formula before a simulated provider, and what each charges, blocks and leaves unused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import NamedTuple

import click
import msgspec
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rules.formulas import FORMULAS
from rules.policy import ModelTerms
from rules.simulation.kinds import INSIDE, KINDS, Kind
from rules.simulation.loop import KNOWING, Outcome, compare

LONGEST_RUN = 8  # days of one model: a week and its end


class Run(NamedTuple):
    """One model for some days, under every formula."""

    kind: Kind
    days: int
    seed: str
    formulas: tuple[str, ...]
    terms: ModelTerms


class Sum(msgspec.Struct):
    """Outcomes of one formula added up; `share` is of what an all-knowing gate uses on the same days."""

    formula: str
    days: int = 0
    charged: int = 0
    share: float = 0.0
    blocks: int = 0
    false_blocks: int = 0
    used: int = 0


@click.command("simulate")
@click.option("--days", type=click.IntRange(1), default=90, show_default=True, help="Model-days in total.")
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same days.")
@click.option("--formula", "formulas", multiple=True, type=click.Choice(list(FORMULAS)), help="Default: all.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Default: all inside the assumptions."
)
@click.option(
    "--buffer", type=click.IntRange(0), default=ModelTerms().small_buffer, show_default=True, help="small_buffer."
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes.  [default: one a core]")
@click.option("--json", "as_json", is_flag=True, help="One line a formula instead of tables.")
def command(
    days: int, seed: int, formulas: tuple[str, ...], kinds: tuple[str, ...], buffer: int, jobs: int, as_json: bool
) -> None:
    """Simulate a provider with late books, and a gate driven by each formula."""
    names = formulas or tuple(FORMULAS)
    chosen = tuple(KINDS[name] for name in kinds) or INSIDE
    outcomes = _play(list(_runs(days, seed, names, chosen, ModelTerms(small_buffer=buffer))), jobs)
    sums = [_add_up(name, outcomes) for name in names]
    if as_json:
        for found in sums:
            click.echo(json.dumps(msgspec.to_builtins(found)))
        return
    console = Console()
    console.print(_formula_table(sums, days))
    if "interval" in names:
        console.print(_kind_table(outcomes, chosen))


def _runs(days: int, seed: int, formulas: tuple[str, ...], kinds: tuple[Kind, ...], terms: ModelTerms) -> Iterator[Run]:
    """The kinds in turn, each for a week or so, until the days are used up."""
    length = max(1, min(LONGEST_RUN, days // len(kinds)))
    for number, begin in enumerate(range(0, days, length)):
        kind = kinds[number % len(kinds)]
        yield Run(kind, min(length, days - begin), f"{seed}-{number}-{kind.name}", formulas, terms)


def _play(runs: list[Run], jobs: int) -> list[Outcome]:
    """All outcomes, with a progress bar on the error stream."""
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("simulating", total=sum(run.days for run in runs))
        found: list[Outcome] = []
        for run, outcomes in zip(runs, _each(runs, jobs), strict=True):
            found += outcomes
            progress.advance(task, run.days)
    return found


def _each(runs: list[Run], jobs: int) -> Iterator[list[Outcome]]:
    if jobs == 1 or len(runs) == 1:
        yield from map(_one, runs)
        return
    with ProcessPoolExecutor(min(jobs, len(runs))) as pool:
        yield from pool.map(_one, runs)


def _one(run: Run) -> list[Outcome]:
    return compare(run.kind, run.days, Random(run.seed), run.formulas, run.terms)  # noqa: S311


def _add_up(formula: str, outcomes: list[Outcome]) -> Sum:
    mine = [outcome for outcome in outcomes if outcome.formula == formula]
    knowing = sum(outcome.used for outcome in outcomes if outcome.formula == KNOWING)
    used = sum(outcome.used for outcome in mine)
    return Sum(
        formula=formula,
        days=sum(outcome.days for outcome in mine),
        charged=sum(outcome.charged for outcome in mine),
        share=round(used / knowing, 5) if knowing else 0.0,
        blocks=sum(outcome.blocks for outcome in mine),
        false_blocks=sum(outcome.false_blocks for outcome in mine),
        used=used,
    )


def _formula_table(sums: list[Sum], days: int) -> Table:
    table = Table(
        title=f"{days:,} model-days, tokens", caption="share: free tokens used, of what an all-knowing gate uses"
    )
    table.add_column("formula")
    for name in ("charged", "share", "refused calls", "though free tokens were left"):
        table.add_column(name, justify="right")
    for found in sums:
        style = "red" if found.charged else "green"
        charged = f"[{style}]{found.charged:,}[/{style}]"
        table.add_row(found.formula, charged, f"{found.share:.2%}", f"{found.blocks:,}", f"{found.false_blocks:,}")
    return table


def _kind_table(outcomes: list[Outcome], kinds: tuple[Kind, ...]) -> Table:
    table = Table(
        title="interval, by kind of day",
        caption="slack: mean of true pool less low end; outside: readings with the true pool not between the ends",
    )
    table.add_column("kind")
    for name in ("charged", "share", "slack", "outside"):
        table.add_column(name, justify="right")
    table.add_column("what happens")
    for kind in kinds:
        found = [outcome for outcome in outcomes if outcome.kind == kind.name]
        mine = [outcome for outcome in found if outcome.formula == "interval"]
        readings, stock = sum(outcome.readings for outcome in mine), kind.pool * (1 + kind.extra * len(kind.ends))
        slack = sum(outcome.slack for outcome in mine) / max(1, readings) / stock
        total, outside = _add_up("interval", found), sum(outcome.outside for outcome in mine)
        shares = (f"{total.charged:,}", f"{total.share:.2%}", f"{slack:.2%}", f"{outside:,} of {readings:,}")
        table.add_row(kind.name, *shares, kind.says)
    return table
