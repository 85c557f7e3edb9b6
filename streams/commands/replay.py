"""`blastdoor replay`: what the rules would have decided at each reading of a recording, and what every formula's limits
were worth, without Kafka or Redis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console

from rules.counting import Between, Counted
from rules.formulas import FORMULAS
from rules.hindsight import Hindsight
from rules.moment import Millis, to_rfc3339
from rules.policy import Policy
from rules.replay import Replay, Replayed
from rules.ruling import Ruling
from streams.bars import FileBars
from streams.collector import spare_the_collector
from streams.counted_apart import Closing, ReaderDied, Recorded, is_worth_it
from streams.instant import WrittenInstant, instant_in
from streams.policy_file import PolicyError, default_rulebook, load_policy
from streams.report import plot, tables
from streams.report.review import Review
from streams.ship.sources import UnreadableSource


class Unusable(click.ClickException):
    """A file that cannot be read or written, or a library that is missing."""

    exit_code = 2


class NothingRead(click.ClickException):
    """No reading to judge by, in what may be no recording at all."""

    exit_code = 3


class Span(NamedTuple):
    """Which part of a recording is shown. What lies before is judged as well: it shaped what is known."""

    since: Millis | None
    until: Millis | None


@click.command(
    epilog="""\b
Examples:
  blastdoor replay gateway.log
  blastdoor replay monday.jsonl.gz tuesday.jsonl.gz --formula interval --formula v6
  blastdoor replay gateway.log --report --plot monday.svg
  blastdoor replay gateway.log --json | jq 'select(.action == "block")'

\b
Exit codes: 0 replayed, 1 the policy has mistakes, 2 a file cannot be read or
written, 3 there was no reading to judge by."""
)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    type=click.Choice(sorted(FORMULAS)),
    help="Compare only these; without it all known ones.",
)
@click.option("--since", type=WrittenInstant(), help="Show what happened from then on; what was before is judged, too.")
@click.option("--until", type=WrittenInstant(), help="Stop there.")
@click.option(
    "--policy", type=click.Path(), envvar="BLASTDOOR_POLICY", help="Policy file; without it the built-in defaults."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per reading and formula.")
@click.option("--report", "only_report", is_flag=True, help="Only what the limits were worth, per model and formula.")
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Draw used, limits, pool and readings into this .svg or .png.",
)
def command(
    files: tuple[Path, ...],
    *,
    formulas: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
    policy: str | None,
    as_json: bool,
    only_report: bool,
    picture: Path | None,
) -> None:
    """Replay recordings (.jsonl or gateway logs, also gzipped) in order of time and show what each reading led to."""
    _check_picture(picture)
    try:
        loaded = load_policy(policy)
        rulebook = default_rulebook(loaded)
    except PolicyError as error:
        raise click.ClickException(str(error)) from error
    zone = loaded.calendar().zone
    span = Span(*(None if written is None else instant_in(written, zone) for written in (since, until)))
    review = Review(formulas or tuple(FORMULAS), span.since, keep=picture is not None)
    recorded = Recorded(files, loaded, span.until, apart=is_worth_it(files))
    replay = Replay(loaded, rulebook, formulas or tuple(FORMULAS), review)
    bars = FileBars(files)
    spare_the_collector()
    counted = recorded.counted(bars.show)
    with bars:
        found = list(_run(replay, counted, span))
    review.finish()
    if picture is not None:
        _draw(picture, review, found, loaded)
    reports = list(review.models.values()) if only_report or not as_json else []
    readings = [] if only_report else found
    if as_json:
        for line in (*lines(readings, zone), *report_lines(reports, zone)):
            click.echo(json.dumps(line, ensure_ascii=False))
    else:
        _print(readings, reports, zone)
        click.echo(_summary(replay, recorded.closing, len(found)))
    if not found:
        raise NothingRead(_nothing(replay, recorded.closing, span))


def _run(replay: Replay, counted: Iterable[Counted | Between], span: Span) -> Iterator[Replayed]:
    try:
        for replayed in replay.follow(counted):
            if span.since is None or replayed.reading.at >= span.since:
                yield replayed
    except (UnreadableSource, ReaderDied) as error:
        raise Unusable(str(error)) from error
    replay.finish()


def _check_picture(picture: Path | None) -> None:
    """Before anything is replayed in vain."""
    if picture is None:
        return
    if picture.suffix not in plot.FORMATS:
        raise click.UsageError(f"--plot: {picture.name} is no picture that can be drawn; name it .svg or .png.")
    try:
        plot.require()
    except plot.MissingLibrary as error:
        raise Unusable(str(error)) from error


def _draw(picture: Path, review: Review, found: list[Replayed], policy: Policy) -> None:
    readings: dict[str, list[tuple[Millis, int]]] = {}
    for replayed in found:
        points = readings.setdefault(policy.canonical(replayed.reading.model), [])
        usage = next(iter(replayed.rulings.values())).used
        points.append((replayed.reading.at, replayed.reading.available + usage))
    models = {scope.removeprefix("model:"): seen for scope, seen in review.seen.items()}
    if not models:
        return
    try:
        plot.draw(picture, models, readings, policy.calendar().zone)
    except OSError as error:
        raise Unusable(f"{picture}: {error.strerror}") from error


def _print(readings: list[Replayed], reports: list[Hindsight], zone: tzinfo) -> None:
    console = Console(highlight=False)
    for part in (*tables.readings(readings, zone), *(tables.report(reports, zone) if reports else ())):
        console.print(part)


def _summary(replay: Replay, closing: Closing, readings: int) -> str:
    counts, refused = closing.counts, closing.rejected + len(replay.rejected)
    told = f"{readings:,} readings, {counts.counted:,} calls, {counts.duplicates:,} repeats, {refused:,} unreadable"
    return f"{told}\nthe first that could not be read: {closing.complaint}" if closing.complaint else told


def _nothing(replay: Replay, closing: Closing, span: Span) -> str:
    first = f"; {closing.complaint}" if closing.complaint else ""
    if not closing.found:
        return f"this is no recording: nothing in it is usage or a balance reading{first}"
    if replay.judge.books and span != Span(None, None):
        return "no balance reading lies between --since and --until, so there is nothing to judge by"
    return f"there are {closing.counts.counted:,} calls, but no balance reading to judge by{first}"


def lines(found: Iterable[Replayed], zone: tzinfo) -> Iterator[dict[str, Any]]:
    """One object per reading and formula; unknown numbers are null."""
    for replayed in found:
        for formula, ruling in replayed.rulings.items():
            yield {"id": replayed.reading.id, "ts": to_rfc3339(replayed.reading.at, zone), **_line(formula, ruling)}


def report_lines(models: Iterable[Hindsight], zone: tzinfo) -> Iterator[dict[str, Any]]:
    """One object per model and formula; amounts are [proven at least, possible at most]."""
    for hindsight in models:
        for tally in hindsight.tallies.values():
            yield {
                "model": hindsight.scope.removeprefix("model:"),
                "formula": tally.formula,
                "days": len(hindsight.days),
                "charged": list(tally.charged),
                "beyond": list(tally.beyond),
                "beyond_at": None if tally.beyond_at is None else to_rfc3339(tally.beyond_at, zone),
                "refused_free": list(tally.refused),
                "unknown_free": list(tally.unknown),
                "unused": list(tally.unused),
                "false_blocks": tally.false_blocks,
                "refusing_seconds": tally.refusing / 1000,
                "unproven": hindsight.unproven,
            }


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
