"""One run: which rows, in which order, how large. A row that fails or lacks its part leaves the others alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from bench import brokers, log, worker
from bench.latency import Bed
from bench.probes import A_SECOND
from bench.processes import ConsumerFailed, PartMissing
from bench.recording import replay
from bench.rows import Row
from bench.throughput import POLICY, Throughput
from bench.workloads import everything
from streams.embedded.server import DidNotStartError, MissingPartError, Server

STEADY = 4_000  # events a second, the rate a middling company has at its peak
SHARE = 0.3  # of the rate of workload B
ASSUMED = 60_000  # its rate, where it was not measured


@dataclass(frozen=True, slots=True)
class Size:
    """How much is read and how long is watched."""

    events: int  # of workload A
    of_b: int
    read_up: int  # before latency is measured
    seconds: float
    recorded: int


FULL = Size(4_000_000, 2_000_000, 200_000, 15.0, 600_000)
QUICK = Size(500_000, 250_000, 50_000, 6.0, 100_000)


class Session:
    """Rows as they are found, and what became of the others."""

    def __init__(self, size: Size, wanted: Sequence[str], tell: Callable[[str], None]) -> None:
        """`wanted`: parts of names; none: all rows. `tell` is given a line as soon as there is one: a run takes
        minutes."""
        self._size = size
        self._wanted = wanted
        self._tell = tell
        self._rows: dict[str, Row] = {}
        self.absent: dict[str, str] = {}  # rows that lack a part, with how to get it
        self.failed: list[str] = []

    def run(self, broker: str, others: Sequence[str]) -> list[Row]:
        """Everything on one broker; on `others` latency alone."""
        self._tell(f"throughput on {broker}")
        with brokers.running(broker) as server:
            self._throughput(server)
        measured = self._rows.get("workload B")
        rate = int(SHARE * (measured.rate if measured and measured.rate else ASSUMED))
        self._latency(broker, "", rate)
        for other in others:
            self._latency(other, f", {other}", rate)
        self.attempt("replay", lambda: replay(self._size.recorded))
        return self._with_latency()

    def attempt(self, name: str, run: Callable[[], Row]) -> bool:
        """Whether the row was to be measured at all."""
        if not self._wants(name):
            return False
        try:
            row = self._rows[name] = run()
        except (PartMissing, MissingPartError) as missing:
            self.absent[name] = str(missing)
            self._tell(f"{name}: left out")
        except (ConsumerFailed, DidNotStartError) as error:
            self._fail(name, error)
        else:
            figures = (f"{value:,.0f}/s" if key == "rate" else f"{key} {value:.2f}" for key, value in row.figures())
            self._tell(f"{name}: {', '.join(figures)}")
        return True

    def _throughput(self, server: Server) -> None:
        runs = Throughput(server, {"A": self._size.events, "B": self._size.of_b})
        runs.bare_aiokafka()
        self._tell(f"bare aiokafka: {runs.rate:,.0f}/s, and again between the others")
        self._rows["bare aiokafka"] = runs.bare_row()  # the first of the table
        rounds: list[dict[str, Callable[[], Row]]] = [
            {"workload A": partial(runs.worker, "A"), "workload A, 2 workers": partial(runs.worker, "A", 2)},
            {"workload B": partial(runs.worker, "B"), "workload B, 2 workers": partial(runs.worker, "B", 2)},
            {f"workload {name}, in Python": partial(runs.worker, name, 1, "python") for name in ("A", "B")},
            {"bare aiokafka, B": runs.bare_aiokafka_on_b, "bare confluent-kafka": runs.bare_confluent},
            {"stock faust": runs.stock_faust, "quix": runs.quix},
        ]
        for members in rounds:
            tried = [self.attempt(name, run) for name, run in members.items()]
            if any(tried):
                runs.bare_aiokafka()
        self._rows["bare aiokafka"] = runs.bare_row()
        for name, row in self._rows.items():
            self._rows[name] = replace(row, ratio=row.rate / runs.rate if row.rate else None)

    def _latency(self, broker: str, suffix: str, rate: int) -> None:
        stretches = {"idle": 0, f"{STEADY:,}/s": STEADY, f"{SHARE:.0%} of B": rate}
        wanted = {name: events for name, events in stretches.items() if self._wants(name + suffix)}
        if not wanted:
            return
        self._tell(f"latency on {broker}: a worker reads {self._size.read_up:,} events of workload B")
        try:
            with brokers.running(broker) as server, self._read_up(server) as bed:
                for name, events in wanted.items():
                    self.attempt(name + suffix, partial(self._follow, bed, name + suffix, events))
        except (ConsumerFailed, DidNotStartError) as error:
            self._fail(f"latency on {broker}", error)

    def _follow(self, bed: Bed, name: str, events: int) -> Row:
        found = bed.follow(events, self._size.seconds)
        return Row(
            name=name,
            rate=float(events or A_SECOND),
            p50_ms=found.key.p50,
            p99_ms=found.key.p99,
            harness_p99_ms=found.harness.p99,
            what="event → decision key in Redis",
        )

    @contextmanager
    def _read_up(self, server: Server) -> Iterator[Bed]:
        """A worker that has read a log of workload B, and so has limits, windows and rows as in daily life."""
        filled = asyncio.run(log.fill(server.address, "bench-latency", everything(), self._size.read_up))
        with worker.working(server.address, filled.topics.prefix, POLICY) as workers:
            workers.wait_for(filled.events)
            yield Bed(server.address, filled, workers)

    def _fail(self, name: str, error: Exception) -> None:
        self.failed.append(name)
        self._tell(f"{name}: failed: {error}")

    def _wants(self, name: str) -> bool:
        return not self._wanted or any(wanted in name for wanted in self._wanted)

    def _with_latency(self) -> list[Row]:
        """The rows of the workloads with the latency that is asked of them."""
        of = {"workload A": self._rows.get(f"{STEADY:,}/s"), "workload B": self._rows.get(f"{SHARE:.0%} of B")}
        return [
            row if (latency := of.get(row.name)) is None else replace(row, p50_ms=latency.p50_ms, p99_ms=latency.p99_ms)
            for row in self._rows.values()
        ]
