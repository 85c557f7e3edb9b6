"""What a run is to show, and whether it did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bench.rows import Row


class Target(NamedTuple):
    """A figure with its bound, and the value that was found."""

    what: str
    bound: str
    found: float
    met: bool


def targets(rows: Iterable[Row], latency: bool) -> Iterator[Target]:
    """Those whose rows were measured. `latency`: also how soon a decision must be there."""
    known = {row.name: row for row in rows}
    rates = {name: row.rate for name, row in known.items() if row.rate}
    for name, over, least in (
        ("workload A", "bare aiokafka", 0.65),
        ("workload B", "bare aiokafka", 0.35),
        ("workload A", "stock faust", 15.0),
        ("workload A, 2 workers", "workload A", 1.6),
    ):
        if name in rates and over in rates:
            found = rates[name] / rates[over]
            yield Target(f"{name} / {over}", f"≥ {least:g}", found, found >= least)
    for name, most in (("4,000/s", 150.0), ("30% of B", 500.0)) if latency else ():
        if (row := known.get(name)) is not None and row.p99_ms is not None:
            yield Target(f"{name}: event → key, p99 ms", f"< {most:g}", row.p99_ms, row.p99_ms < most)
