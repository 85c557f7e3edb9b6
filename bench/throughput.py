"""How fast the same log is read: bare loops, our worker, a stock Faust agent, Quix Streams."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import time
from collections.abc import Mapping

from blastdoor_gateway.contract import Keys
from redis import Redis

from bench import log, worker
from bench.processes import ROOT, ConsumerFailed, PartMissing, Report, consume, cpu_seconds
from bench.rows import Row
from bench.workloads import WORKLOADS
from native.library import library
from streams.embedded.server import Server

QUIX = ROOT / ".cache" / "quix" / "bin" / "python"

# A short lag bound, so that limits are known after the first minutes of the log: with unknown ones there is less to do.
POLICY = "models: {default: {max_lag: 1m}}\n"
ON = {
    "A": "32 models, sums, duplicates, changelog, facts, judge, Redis",
    "B": "50 models, Zipf; tenants, departments, users in every event; repeats, readings",
}
EXACT_WITHIN = 60.0  # seconds until Redis must hold the last event


class Throughput:
    """Runs on one broker. `events`: in each workload's log."""

    def __init__(self, server: Server, events: Mapping[str, int]) -> None:
        self._server = server
        self._events = events
        self._bare: list[Report] = []
        self._logs: dict[str, log.Log] = {}  # the last one filled, by workload
        self._read: set[str] = set()  # prefixes under which a worker has left its topics

    @property
    def rate(self) -> float:
        """Of the bare aiokafka loop, over all its runs."""
        return sum(report.events for report in self._bare) / sum(report.seconds for report in self._bare)

    def bare_aiokafka(self) -> None:
        """Once more: before, between and after the others, as machines grow warm and busy."""
        self._bare.append(self._consume("bare_aiokafka", self._events["A"])[0])

    def bare_row(self) -> Row:
        """The loop that everything else is compared with."""
        runs = len(self._bare)
        mean = Report(
            events=sum(each.events for each in self._bare) // runs,
            seconds=sum(each.seconds for each in self._bare) / runs,
            cpu=sum(each.cpu for each in self._bare) / runs,
            peak_mb=max(each.peak_mb for each in self._bare),
        )
        return self._row("bare aiokafka", mean, None, f"getmany, msgspec, a dict; mean of {runs} runs")

    def bare_confluent(self) -> Row:
        """Raises PartMissing."""
        if importlib.util.find_spec("confluent_kafka") is None:
            raise PartMissing("no confluent-kafka: pip install 'blastdoor[bench]', or make install")
        return self._row(
            "bare confluent-kafka", *self._consume("bare_confluent", self._events["A"]), "librdkafka, same loop"
        )

    def bare_aiokafka_on_b(self) -> Row:
        """The same loop over B's events, which are twice as long."""
        topic = self._filled("B").topics.usage
        found = consume("bare_aiokafka", self._server.address, topic, log.PARTITIONS, self._events["B"])
        return self._row("bare aiokafka, B", found, None, "the same loop over workload B's log")

    def stock_faust(self) -> Row:
        found = self._consume("stock_faust", min(100_000, self._events["A"] // 4))
        return self._row("stock faust", *found, "an agent, A's sums in a dict, no table")

    def quix(self) -> Row:
        """In its own venv, which is made the first time. Raises PartMissing."""
        argv = ["/bin/sh", ".ci/quix", sys.executable]
        made = subprocess.run(argv, cwd=ROOT, check=False, capture_output=True, text=True)
        if made.returncode:
            raise PartMissing(f"no Quix Streams in .cache/quix: sh .ci/quix says {made.stderr.strip()[-200:]}")
        found = self._consume("quix", min(500_000, self._events["A"] // 2), python=str(QUIX))
        return self._row("quix", *found, "Quix Streams, A's sums in a dict, no state store")

    def worker(self, workload: str, workers: int = 1, counting: str = "native") -> Row:
        """Our worker on a fresh log, and whether Redis holds every event exactly once in the end.

        Raises PartMissing.
        """
        if counting == "native" and library() is None:
            raise PartMissing("no compiled core: make native")
        filled = self._unread(workload)
        with worker.working(self._server.address, filled.topics.prefix, POLICY, workers, counting) as running:
            found = worker.measure(running, filled.events, self._server.child.pid)
            seconds = _until_exact(running.redis, filled)
        count = "" if workers == 1 else f", {workers} workers"
        count += "" if counting == "native" else ", in Python"
        what = ON[workload] if workers == 1 else "in one group"
        return Row(
            name=f"workload {workload}{count}",
            rate=found.rate,
            ratio=found.rate / self.rate,
            cpu_per_million=found.cpu_per_million,
            broker_cpu_per_million=found.broker_cpu_per_million,
            peak_mb=found.peak_mb,
            what=f"{what}; exact in Redis {seconds:.1f} s after the last was read",
        )

    def _filled(self, workload: str) -> log.Log:
        """A log for who leaves nothing behind."""
        return self._logs.get(workload) or self._fill(workload)

    def _unread(self, workload: str) -> log.Log:
        """A log for a worker, whose topics stand beside it."""
        found = self._filled(workload)
        if found.topics.prefix in self._read:
            found = self._fill(workload)
        self._read.add(found.topics.prefix)
        return found

    def _fill(self, workload: str) -> log.Log:
        prefix = f"bench-{workload.lower()}{len(self._read)}"
        made = WORKLOADS[workload]()
        filled = self._logs[workload] = asyncio.run(
            log.fill(self._server.address, prefix, made, self._events[workload])
        )
        return filled

    def _consume(self, name: str, events: int, python: str = sys.executable) -> tuple[Report, float]:
        """A consumer's report, and the broker's CPU for a million events."""
        topic = self._filled("A").topics.usage
        before = cpu_seconds(self._server.child.pid)
        found = consume(name, self._server.address, topic, log.PARTITIONS, events, python=python)
        return found, (cpu_seconds(self._server.child.pid) - before) / found.events * 1e6

    def _row(self, name: str, report: Report, broker: float | None, what: str) -> Row:
        return Row(
            name=name,
            rate=report.rate,
            ratio=report.rate / self.rate,
            cpu_per_million=report.cpu / report.events * 1e6,
            broker_cpu_per_million=broker,
            peak_mb=report.peak_mb,
            what=what,
        )


def _until_exact(url: str, filled: log.Log) -> float:
    """Seconds until the decisions count what was sent. Raises ConsumerFailed if they come to count more or less."""
    began = time.monotonic()
    with Redis.from_url(url, decode_responses=True) as redis:
        while (counted := _counted(redis, filled)) != filled.tokens:
            if time.monotonic() > began + EXACT_WITHIN:
                raise ConsumerFailed(f"{counted:,} tokens were counted of {filled.tokens:,}")
            time.sleep(0.1)
    return time.monotonic() - began


def _counted(redis: Redis, filled: log.Log) -> int:
    keys = list(redis.scan_iter(Keys(filled.topics.prefix).decision("model:*")))
    return sum(int(str(redis.hget(key, "counted") or 0)) for key in keys)
