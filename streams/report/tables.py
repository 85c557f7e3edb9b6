"""What a replay shows a person: for each model what was known at its readings, the limits that followed, and what those
limits were worth. Every table fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo

from rich import box
from rich.table import Table
from rich.text import Text

from rules.hindsight import Hindsight, Tally
from rules.moment import MINUTE, to_rfc3339
from rules.replay import Replayed
from rules.ruling import Ruling

MEANING = """\
Recorded usage, seen from afterwards. What is shown is proven; more is possible.
  let through   was charged, and the limit let it through
  beyond        how far the limit stood above the free pool, at worst
  refused       was free, and the limit refused it
  unknown       was free, and refused as nothing was known: no reading, or old
  left over     free tokens up to the cap that it shut out when the days ended
  false blocks  began to refuse with more than the buffer left; for how long"""


def readings(found: Iterable[Replayed], zone: tzinfo) -> Iterator[Table]:
    """Two tables per model: what was known at each reading, and the limits that followed."""
    models: dict[str, list[Replayed]] = {}
    for replayed in found:
        models.setdefault(replayed.reading.model, []).append(replayed)
    for model, rows in models.items():
        yield _known(model, rows, zone)
        yield _limits(model, rows, zone)


def report(models: Iterable[Hindsight], zone: tzinfo) -> Iterator[Table | Text]:
    """One table per model, one row per formula."""
    for hindsight in models:
        yield _report(hindsight)
        yield Text("\n".join(_notes(hindsight, zone)))
    yield Text(MEANING, style="dim")


def _report(hindsight: Hindsight) -> Table:
    model, days = hindsight.scope.removeprefix("model:"), len(hindsight.days)
    title = f"{model}: what the limits were worth in {days} day{'s' if days > 1 else ''}"
    columns = ["let through", "beyond", "refused", "unknown", "left over", "false blocks"]
    table = _table(title, columns, first="formula")
    for tally in hindsight.tallies.values():
        table.add_row(tally.formula, *_row(tally))
    return table


def _row(tally: Tally) -> Iterator[Text]:
    for amount in (tally.charged, tally.beyond):
        yield Text(number(amount.low), style="red" if amount.low else "green")
    for amount in (tally.refused, tally.unknown, tally.unused):
        yield Text(number(amount.low))
    yield Text(f"{tally.false_blocks}, {_minutes(tally.refusing)}" if tally.false_blocks else "0")


def _notes(hindsight: Hindsight, zone: tzinfo) -> Iterator[str]:
    gate = hindsight.gate
    worst = max(hindsight.tallies.values(), key=lambda tally: tally.beyond.low, default=None)
    if worst is not None and worst.beyond_at is not None:
        at = to_rfc3339(worst.beyond_at, zone)[:16].replace("T", " ")
        yield f" {worst.formula} was furthest beyond the pool at {at}."
    if hindsight.unproven:
        yield f" Of {hindsight.unproven:,} tokens nothing proves whether they were free."
    if gate.refused:
        calls = "1 call" if gate.refused == 1 else f"{gate.refused:,} calls"
        yield f" The gate of the recording refused {calls}, {gate.falsely:,} of them though free."
    if gate.example is not None:
        example = gate.example
        at = to_rfc3339(example.at, zone)[:19].replace("T", " ")
        said = f"{example.usage:,}+{example.reserve:,}/{example.limit:,}"
        yield f" At {at}: {said}, with {gate.left:,} free tokens left."


def _minutes(length: int) -> str:
    hours, minutes = divmod(length // MINUTE, 60)
    return f"{hours}:{minutes:02} h"


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


def _table(title: str, columns: list[str], first: str = "reading") -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _at(replayed: Replayed, zone: tzinfo) -> str:
    return to_rfc3339(replayed.reading.at, zone)[5:16].replace("T", " ")


def number(value: int | None) -> str:
    """With thousands separators; a question mark for what is unknown."""
    return "?" if value is None else f"{value:,}"
