"""`python -m bench`: everything in one run, as a table and as JSON. `make bench` calls it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console

from bench import brokers, log, worker
from bench.latency import Bed, Latency
from bench.machine import busy, machine
from bench.probes import A_SECOND
from bench.recording import replay
from bench.rows import LATEST, Row, table, write
from bench.throughput import POLICY, Throughput
from bench.workloads import everything
from streams.embedded.server import Server

console = Console(highlight=False)

STEADY = 4_000  # events a second, the rate a middling company has at its peak
SHARE = 0.3  # of the rate of workload B
ASSUMED = 150_000  # its rate, where it was not measured


@dataclass(frozen=True, slots=True)
class Size:
    """How much is read and how long is watched."""

    events: int
    seconds: float
    recorded: int


FULL = Size(2_000_000, 15.0, 600_000)
QUICK = Size(1_000_000, 6.0, 150_000)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Names and groups of rows; none: all."""

    names: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return not self.names or any(wanted in str(name) for wanted in self.names)


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Rows whose name contains this; the bare loop always runs.")
@click.option("--quick", is_flag=True, help="Smaller logs and shorter looks: to try it out, not to quote.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), default=LATEST, help="Where the JSON goes.")
def main(only: tuple[str, ...], quick: bool, out: Path) -> None:
    """Measure throughput and latency on brokers, a Redis and processes of this machine's own."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # topics just made have no leader for a moment
    wanted, size, began = Wanted(only), QUICK if quick else FULL, time.monotonic()
    if busy() > 1:
        console.print("[yellow]other processes want this machine, too: figures will be low and uneven[/yellow]")
    first, *_ = available = brokers.available()
    rows = list(_throughput(first, size, wanted))
    rates = {row.name: row.rate for row in rows}
    rate = int(SHARE * (rates.get("workload B") or ASSUMED))
    for broker in available:
        rows += _latency(broker, rate, size, wanted)
    rows = _with_latency(rows, first)
    if "replay" in wanted:
        rows.append(_told(replay(size.recorded)))
    console.print(table(rows, first, machine()))
    console.print(f"{time.monotonic() - began:.0f} s")
    write(rows, out)


def _throughput(broker: str, size: Size, wanted: Wanted) -> Iterator[Row]:
    with brokers.running(broker) as server:
        runs = Throughput(server, size.events)
        runs.bare_aiokafka()
        others: dict[str, Callable[[], Row | None]] = {
            "workload A": lambda: runs.worker("A"),
            "workload B": lambda: runs.worker("B"),
            "bare aiokafka, B": runs.bare_aiokafka_on_b,
            "workload A, 2 workers": lambda: runs.worker("A", 2),
            "bare confluent-kafka": runs.bare_confluent,
            "stock faust": runs.stock_faust,
            "quix": runs.quix,
        }
        found = {name: run() for name, run in others.items() if name in wanted}
        runs.bare_aiokafka()
        yield _told(runs.bare_row())
        for name, row in found.items():
            if row is None:
                console.print(f"{name}: left out, it cannot be installed here")
            elif row.rate is not None:
                yield _told(replace(row, ratio=row.rate / runs.rate))


def _latency(broker: str, rate: int, size: Size, wanted: Wanted) -> Iterator[Row]:
    stretches = {name: events for name, events in _stretches(broker, rate).items() if name in wanted}
    if not stretches:
        return
    with brokers.running(broker) as server, _read_up(server, size) as bed:
        for name, events in stretches.items():
            found = bed.follow(events, size.seconds)
            yield _told(_latency_row(name, events, found.key, "event → decision key in Redis"))
            yield _told(_latency_row(f"harness, {name}", events, found.harness, "produce → consume at the same time"))


def _stretches(broker: str, rate: int) -> dict[str, int]:
    """Rates to follow events at, by the name of their rows."""
    return {f"idle, {broker}": 0, _steady(broker): STEADY, _share(broker): rate}


def _steady(broker: str) -> str:
    return f"{STEADY:,}/s, {broker}"


def _share(broker: str) -> str:
    return f"{SHARE:.0%} of B, {broker}"


def _latency_row(name: str, events: int, found: Latency, what: str) -> Row:
    return Row(name=name, rate=events or A_SECOND, p50_ms=found.p50, p99_ms=found.p99, what=what)


@contextmanager
def _read_up(server: Server, size: Size) -> Iterator[Bed]:
    """A worker that has read a log of workload B, and so has limits, windows and rows as in daily life."""
    filled = asyncio.run(log.fill(server.address, "bench-latency", everything(), size.events // 5))
    with worker.working(server.address, filled.topics.prefix, POLICY) as workers:
        workers.wait_for(filled.events)
        yield Bed(server.address, filled, workers)


def _with_latency(rows: list[Row], broker: str) -> list[Row]:
    """The rows of the workloads with the latency that is asked of them."""
    found = {row.name: row for row in rows}
    of = {"workload A": found.get(_steady(broker)), "workload B": found.get(_share(broker))}
    return [
        row if (latency := of.get(row.name)) is None else replace(row, p50_ms=latency.p50_ms, p99_ms=latency.p99_ms)
        for row in rows
    ]


def _told(row: Row) -> Row:
    """Shown as soon as it is known: a run takes minutes."""
    figures = (f"{value:,.0f}/s" if name == "rate" else f"{name} {value:.2f}" for name, value in row.figures())
    console.print(f"  {row.name}: {', '.join(figures)}")
    return row


main()
