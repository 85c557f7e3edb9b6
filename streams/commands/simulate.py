"""`blastdoor simulate`: every formula before a simulated provider, and what each charges, blocks and leaves unused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random
from typing import NamedTuple

import click
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from rules.formulas import FORMULAS
from rules.policy import ModelTerms
from rules.simulation.kinds import INSIDE, KINDS, Kind
from rules.simulation.loop import KNOWING, TOLD, Outcome, compare

LONGEST_RUN = 8  # days of one model: a week and its end


class Run(NamedTuple):
    """One model for some days, under every formula."""

    kind: Kind
    days: int
    seed: str
    formulas: tuple[str, ...]
    terms: ModelTerms


class Sum(NamedTuple):
    """Outcomes of one formula added up; `share` is of what an all-knowing gate uses on the same days."""

    formula: str
    days: int
    charged: int
    share: float
    blocks: int


@click.command(
    "simulate",
    epilog="""\b
Examples:
  blastdoor simulate --days 1008 --seed 1 --buffer 0
  blastdoor simulate --kind stall-3h --formula interval --formula v6""",
)
@click.option("--days", type=click.IntRange(1), default=90, show_default=True, help="Model-days in total.")
@click.option("--seed", type=int, default=1, show_default=True, help="Same seed, same days.")
@click.option("--formula", "formulas", multiple=True, type=click.Choice(list(FORMULAS)), help="Only these. [all]")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(KINDS)),
    help="Only these. [all that keep the assumptions]",
)
@click.option(
    "--buffer",
    type=click.IntRange(0),
    default=ModelTerms().small_buffer,
    show_default=True,
    help="The policy's small_buffer.",
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes. [one a core]")
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
            click.echo(json.dumps(found._asdict()))
        return
    console = Console()
    console.print(_formula_table(sums, outcomes, days))
    if "interval" in names:
        played = tuple(kind for kind in chosen if any(outcome.kind == kind.name for outcome in outcomes))
        console.print(_kind_table(outcomes, played))
        console.print(_legend(played))
        if len(played) < len(chosen):
            console.print(f"too few days for all kinds: {len(played)} of {len(chosen)}", highlight=False)


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
    return Sum(
        formula=formula,
        days=sum(outcome.days for outcome in mine),
        charged=sum(outcome.charged for outcome in mine),
        share=round(_share(mine, outcomes, KNOWING), 5),
        blocks=sum(outcome.blocks for outcome in mine),
    )


def _formula_table(sums: list[Sum], outcomes: list[Outcome], days: int) -> Table:
    table = Table(
        title=f"{days:,} model-days, tokens", caption="share: free tokens used, of what an all-knowing gate uses"
    )
    table.add_column("formula")
    for name in ("charged", "share", "refused calls", "though free tokens were left"):
        table.add_column(name, justify="right")
    for found in sums:
        style = "red" if found.charged else "green"
        charged = f"[{style}]{found.charged:,}[/{style}]"
        false = sum(outcome.false_blocks for outcome in outcomes if outcome.formula == found.formula)
        table.add_row(found.formula, charged, f"{found.share:.2%}", f"{found.blocks:,}", f"{false:,}")
    return table


def _kind_table(outcomes: list[Outcome], kinds: tuple[Kind, ...]) -> Table:
    table = Table(
        title="interval, by kind of day",
        caption="told: of what an all-knowing gate uses that hears of packages by readings; slack: mean of true pool"
        " less low end, of what the model holds and of what the day has; outside: readings with the true pool not"
        " between the ends",
        box=box.SIMPLE,
        padding=(0, 1, 0, 0),
    )
    table.add_column("kind", no_wrap=True)
    for name in ("charged", "share", "told", "slack", "of day", "outside", "readings"):
        table.add_column(name, justify="right")
    for kind in kinds:
        table.add_row(kind.name, *_kind_row(kind, [found for found in outcomes if found.kind == kind.name]))
    return table


def _legend(kinds: tuple[Kind, ...]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    for kind in kinds:
        table.add_row(kind.name, kind.says)
    return table


def _kind_row(kind: Kind, outcomes: list[Outcome]) -> tuple[str, ...]:
    mine = [outcome for outcome in outcomes if outcome.formula == "interval"]
    readings, stock = sum(outcome.readings for outcome in mine), kind.pool * (1 + kind.extra * len(kind.ends))
    slack, pools = sum(outcome.slack for outcome in mine), sum(outcome.pools for outcome in mine)
    return (
        f"{sum(outcome.charged for outcome in mine):,}",
        f"{_share(mine, outcomes, KNOWING):.2%}",
        f"{_share(mine, outcomes, TOLD):.2%}",
        f"{slack / max(1, readings) / stock:.2%}",
        f"{slack / max(1, pools):.2%}",
        f"{sum(outcome.outside for outcome in mine):,}",
        f"{readings:,}",
    )


def _share(mine: list[Outcome], outcomes: list[Outcome], measure: str) -> float:
    """Free tokens used, of what the measuring gate uses on the same days."""
    most = sum(outcome.used for outcome in outcomes if outcome.formula == measure)
    return sum(outcome.used for outcome in mine) / most if most else 0.0
