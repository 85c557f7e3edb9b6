"""`blastdoor replay`: what the rules would have decided at each reading of a recording, without Kafka or Redis."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import tzinfo
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from rules.formulas import FORMULAS
from rules.moment import to_rfc3339
from rules.replay import Replay, Replayed
from rules.ruling import Ruling
from streams.policy_file import PolicyError, default_rulebook, load_policy
from streams.recording import Recording


@click.command(
    epilog="""\b
Examples:
  blastdoor replay gateway.log
  blastdoor replay monday.jsonl.gz tuesday.jsonl.gz --formula interval --formula v6
  blastdoor replay gateway.log --json | jq 'select(.action == "block")'"""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    type=click.Choice(sorted(FORMULAS)),
    help="Compare only these; without it all known ones.",
)
@click.option(
    "--policy", type=click.Path(), envvar="BLASTDOOR_POLICY", help="Policy file; without it the built-in defaults."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per reading and formula.")
def command(files: tuple[Path, ...], formulas: tuple[str, ...], policy: str | None, as_json: bool) -> None:
    """Replay recordings (.jsonl or gateway logs, also gzipped) in order of time and show what each reading led to."""
    try:
        loaded = load_policy(policy)
        rulebook = default_rulebook(loaded)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    zone = loaded.calendar().zone
    recording = Recording(files, zone)
    replay = Replay(loaded, rulebook, formulas or tuple(FORMULAS))
    found = list(replay.run(recording.records))
    if as_json:
        for line in lines(found, zone):
            click.echo(json.dumps(line, ensure_ascii=False))
        return
    console = Console()
    for table in tables(found, zone):
        console.print(table)
    console.print(_summary(replay, recording.rejected + len(replay.rejected), len(found)))


def _summary(replay: Replay, refused: int, readings: int) -> str:
    counts = replay.meter.counts
    return f"{readings:,} readings, {counts.counted:,} calls, {counts.duplicates:,} repeats, {refused:,} unreadable"


def lines(found: Iterable[Replayed], zone: tzinfo) -> Iterable[dict[str, Any]]:
    """One object per reading and formula; unknown numbers are null."""
    for replayed in found:
        for formula, ruling in replayed.rulings.items():
            yield {"id": replayed.reading.id, "ts": to_rfc3339(replayed.reading.at, zone), **_line(formula, ruling)}


def _line(formula: str, ruling: Ruling) -> dict[str, Any]:
    bounds = ruling.bounds
    return {
        "model": ruling.scope.removeprefix("model:"),
        "formula": formula,
        "day": ruling.day,
        "used": ruling.used,
        "limit": ruling.limit,
        "pool_low": ruling.pool_low,
        "pool_high": ruling.pool_high,
        "lag_tokens_low": bounds.lag_tokens_low,
        "lag_tokens_high": bounds.lag_tokens_high,
        "lag_seconds": bounds.lag_seconds,
        "action": ruling.action,
        "rule": ruling.rule,
        "reason": ruling.reason,
    }


def tables(found: Iterable[Replayed], zone: tzinfo) -> Iterable[Table]:
    """Two tables per model, each fit for 80 columns: what was known at each reading, and the limits that followed."""
    models: dict[str, list[Replayed]] = {}
    for replayed in found:
        models.setdefault(replayed.reading.model, []).append(replayed)
    for model, rows in models.items():
        yield _known(model, rows, zone)
        yield _limits(model, rows, zone)


def _known(model: str, rows: list[Replayed], zone: tzinfo) -> Table:
    table = _table(f"{model}: what was known", ["balance", "used", "pool at least", "at most", "lag at most"])
    for replayed in rows:
        ruling = next(iter(replayed.rulings.values()))
        ends = [ruling.pool_low, ruling.pool_high, ruling.bounds.lag_tokens_high]
        table.add_row(_at(replayed, zone), *map(number, [replayed.reading.available, ruling.used, *ends]))
    return table


def _limits(model: str, rows: list[Replayed], zone: tzinfo) -> Table:
    table = _table(f"{model}: the limit by formula (* blocks)", list(rows[0].rulings))
    for replayed in rows:
        table.add_row(_at(replayed, zone), *(_limit(ruling) for ruling in replayed.rulings.values()))
    return table


def _limit(ruling: Ruling) -> str:
    return number(ruling.limit) + ("*" if ruling.action in {"block", "kill"} else "")


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("reading", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _at(replayed: Replayed, zone: tzinfo) -> str:
    return to_rfc3339(replayed.reading.at, zone)[:16].replace("T", " ")


def number(value: int | None) -> str:
    """With thousands separators; a question mark for what is unknown."""
    return "?" if value is None else f"{value:,}"
