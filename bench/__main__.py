"""`python -m bench`: everything in one run, as a table and as JSON. `make bench` calls it."""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from bench import brokers
from bench.machine import busy, machine
from bench.rows import LATEST, Circumstances, table, write
from bench.session import FULL, QUICK, Session
from bench.targets import targets

WIDTH = 120  # of the table, where no terminal says how wide it is

console = Console(highlight=False)
if not console.is_terminal:
    console.width = WIDTH


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Rows whose name contains this; the bare loop always runs.")
@click.option("--quick", is_flag=True, help="Smaller logs and shorter looks: to try it out, not to quote.")
@click.option(
    "--broker",
    "chosen",
    type=click.Choice(list(brokers.OPTIONS)),
    help="Measure on this one alone. Left out: on Apache Kafka, and latency on tansu, too; without it: on tansu.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where the JSON goes. Left out: bench/results/latest.json, if all rows were to be measured in full.",
)
def main(only: tuple[str, ...], quick: bool, chosen: str | None, out: Path | None) -> None:
    """Measure throughput and latency on a broker, a Redis and processes of this machine's own."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # topics just made have no leader for a moment
    began, taken = time.monotonic(), f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
    if busy() > 1:
        console.print("[yellow]other processes want this machine, too: figures will be low and uneven[/yellow]")
    broker, *others = _available(chosen)
    session = Session(
        QUICK if quick else FULL, only, lambda line: console.print(f"{_since(began)}  {line}", markup=False)
    )
    rows = session.run(broker, others)
    circumstances = Circumstances(brokers.titled(broker), machine(), taken)
    console.print(table(rows, circumstances))
    for target in targets(rows, latency=broker == brokers.KAFKA):  # on tansu it is told, not asked for
        console.print(f"{'met   ' if target.met else 'missed'}  {target.what} {target.bound}: {target.found:,.2f}")
    for name, why in session.absent.items():
        console.print(f"left out: {name}: {why}", markup=False)
    path = out or (None if only or quick else LATEST)
    if path is not None:
        write(rows, circumstances, path)
    console.print(f"{_since(began)}{f', written to {path}' if path else ', nothing written: --out FILE does'}")
    sys.exit(1 if session.failed else 0)


def _available(chosen: str | None) -> list[str]:
    """The brokers to measure on, that for throughput first."""
    wanted = [brokers.OPTIONS[chosen]] if chosen else list(brokers.OPTIONS.values())
    found = []
    for name in wanted:
        absent = brokers.missing(name)
        if absent is None:
            found.append(name)
        else:
            console.print(f"left out: {name}: {absent}", markup=False)
    if not found:
        raise click.ClickException("no broker to measure on")
    return found


def _since(began: float) -> str:
    return f"{time.monotonic() - began:3.0f} s"


main()
