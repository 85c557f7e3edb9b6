"""What a run found out, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

LATEST = Path(__file__).with_name("results") / "latest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. What was not measured is None. `what` is switched on, or how it was measured."""

    name: str
    rate: float | None = None  # events a second
    ratio: float | None = None  # to the bare aiokafka loop of this run
    p50_ms: float | None = None  # usage event → decision key in Redis
    p99_ms: float | None = None
    cpu_per_million: float | None = None  # seconds
    broker_cpu_per_million: float | None = None
    peak_mb: float | None = None  # of one process
    what: str = ""

    def figures(self) -> Iterator[tuple[str, float]]:
        """What was measured."""
        yield from ((name, value) for name, value in asdict(self).items() if isinstance(value, float))


def table(rows: Iterable[Row], broker: str, machine: str) -> Table:
    """For a terminal."""
    shown = Table(title=f"throughput on {broker}; {machine}", title_justify="left")
    shown.add_column("")
    for heading in ("events/s", "ratio", "p50 ms", "p99 ms", "CPU s/M", "broker s/M", "peak MB"):
        shown.add_column(heading, justify="right")
    shown.add_column("")
    for row in rows:
        shown.add_row(
            row.name, _rounded(row.rate, 0), _rounded(row.ratio, 2), _rounded(row.p50_ms, 1), _rounded(row.p99_ms, 1),
            _rounded(row.cpu_per_million, 2), _rounded(row.broker_cpu_per_million, 2), _rounded(row.peak_mb, 0),
            row.what,
        )  # fmt: skip
    return shown


def write(rows: Iterable[Row], path: Path) -> None:
    """As a list of objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def _rounded(number: float | None, digits: int) -> str:
    return "" if number is None else f"{number:,.{digits}f}"
