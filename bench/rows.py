"""What a run found out, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rich.box import SIMPLE
from rich.table import Table

LATEST = Path(__file__).with_name("results") / "latest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was not measured is None. `what` is switched on, or how it was measured: only in the JSON."""

    name: str
    rate: float | None = None  # events a second
    ratio: float | None = None  # to the bare aiokafka loop of this run
    p50_ms: float | None = None  # usage event → decision key in Redis
    p99_ms: float | None = None
    harness_p99_ms: float | None = None  # produce → consume at the same time, without us in between
    cpu_per_million: float | None = None  # seconds
    broker_cpu_per_million: float | None = None
    peak_mb: float | None = None  # of one process
    what: str = ""

    def figures(self) -> Iterator[tuple[str, float]]:
        """What was measured."""
        yield from ((name, value) for name, value in asdict(self).items() if isinstance(value, float))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Where and when rows were measured. The same in each of a run, so that a row can be quoted alone."""

    broker: str
    machine: str
    taken: str  # to the minute, UTC


def table(rows: Iterable[Row], circumstances: Circumstances) -> Table:
    """For a terminal."""
    title = f"{circumstances.broker}; {circumstances.machine}; {circumstances.taken}"
    shown = Table(title=title, title_justify="left", box=SIMPLE)
    shown.add_column("", no_wrap=True)
    for heading in ("events/s", "ratio", "p50 ms", "p99 ms", "harness p99", "CPU s/M", "broker s/M", "peak MB"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        shown.add_row(
            row.name, rounded(row.rate, 0), rounded(row.ratio, 2), rounded(row.p50_ms, 1), rounded(row.p99_ms, 1),
            rounded(row.harness_p99_ms, 1), rounded(row.cpu_per_million, 2), rounded(row.broker_cpu_per_million, 2),
            rounded(row.peak_mb, 0),
        )  # fmt: skip
    return shown


def write(rows: Iterable[Row], circumstances: Circumstances, path: Path) -> None:
    """As a list of objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    objects = [asdict(row) | asdict(circumstances) for row in rows]
    path.write_text(json.dumps(objects, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[list[Row], Circumstances]:
    """What `write` wrote."""
    objects = json.loads(path.read_text(encoding="utf-8"))
    own, common = ([each.name for each in fields(kind)] for kind in (Row, Circumstances))
    rows = [Row(**{name: each[name] for name in own}) for each in objects]
    return rows, Circumstances(*(objects[0][name] for name in common))


def rounded(number: float | None, digits: int) -> str:
    """As people read it; empty where there is none."""
    return "" if number is None else f"{number:,.{digits}f}"
