"""How fast the same log is read: bare loops, our worker, a stock Faust agent, Quix Streams."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import time

from blastdoor_gateway.contract import Keys
from redis import Redis

from bench import log, worker
from bench.processes import ROOT, ConsumerFailed, Report, consume, cpu_seconds
from bench.rows import Row
from bench.workloads import WORKLOADS
from streams.embedded.server import Server

QUIX = ROOT / ".cache" / "quix" / "bin" / "python"

# A short lag bound, so that limits are known after the first minutes of the log: with unknown ones there is less to do.
POLICY = "models: {default: {max_lag: 1m}}\n"
ON = {
    "A": "32 models, sums, duplicates, changelog, facts, judge, Redis",
    "B": "50 models, Zipf; tenants, departments, users in every event; repeats, readings",
}
EXACT_WITHIN = 20.0  # seconds until Redis must hold the last event


class Throughput:
    """Runs on one broker. `events`: in each log."""

    def __init__(self, server: Server, events: int) -> None:
        self._server = server
        self._events = events
        self._bare: list[Report] = []
        self._log: log.Log | None = None
        self._logs: dict[str, log.Log] = {}  # the last one that a worker read, by workload
        self._fills = 0

    @property
    def rate(self) -> float:
        """Of the bare aiokafka loop, over all its runs."""
        return sum(report.events for report in self._bare) / sum(report.seconds for report in self._bare)

    def bare_aiokafka(self) -> None:
        """Once more: at the beginning and at the end of a run, as machines grow warm and busy."""
        self._bare.append(self._consume("bare_aiokafka", self._events)[0])

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

    def bare_confluent(self) -> Row | None:
        if importlib.util.find_spec("confluent_kafka") is None:
            return None
        return self._row(
            "bare confluent-kafka", *self._consume("bare_confluent", self._events), "librdkafka, same loop"
        )

    def bare_aiokafka_on_b(self) -> Row:
        """The same loop over B's events, which are twice as long."""
        topic = (self._logs.get("B") or self._fill("B")).topics.usage
        found = consume("bare_aiokafka", self._server.address, topic, log.PARTITIONS, self._events)
        return self._row("bare aiokafka, B", found, None, "the same loop over workload B's log")

    def stock_faust(self) -> Row:
        found = self._consume("stock_faust", min(100_000, self._events // 4))
        return self._row("stock faust", *found, "an agent, A's sums in a dict, no table")

    def quix(self) -> Row | None:
        """In its own venv, which is made the first time."""
        made = subprocess.run(["/bin/sh", ".ci/quix"], cwd=ROOT, check=False, capture_output=True)
        if made.returncode:
            return None
        found = self._consume("quix", min(500_000, self._events // 2), python=str(QUIX))
        return self._row("quix", *found, "Quix Streams, A's sums in a dict, no state store")

    def worker(self, workload: str, workers: int = 1) -> Row:
        """Our worker on a fresh log, and whether Redis holds every event exactly once in the end."""
        filled = self._logs[workload] = self._fill(workload)
        with worker.working(self._server.address, filled.topics.prefix, POLICY, workers) as running:
            found = worker.measure(running, filled.events, self._server.child.pid)
            _check_exact(running.redis, filled)
        count = "" if workers == 1 else f", {workers} workers"
        return Row(
            name=f"workload {workload}{count}",
            rate=found.rate,
            ratio=found.rate / self.rate,
            cpu_per_million=found.cpu_per_million,
            broker_cpu_per_million=found.broker_cpu_per_million,
            peak_mb=found.peak_mb,
            what=ON[workload] if workers == 1 else "in one group",
        )

    def _fill(self, workload: str) -> log.Log:
        self._fills += 1
        prefix = f"bench-{workload.lower()}{self._fills}"
        return asyncio.run(log.fill(self._server.address, prefix, WORKLOADS[workload](), self._events))

    def _consume(self, name: str, events: int, python: str = sys.executable) -> tuple[Report, float]:
        """A consumer's report, and the broker's CPU for a million events."""
        self._log = self._log or self._fill("A")
        before = cpu_seconds(self._server.child.pid)
        topic = self._log.topics.usage
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


def _check_exact(url: str, filled: log.Log) -> None:
    """Raises ConsumerFailed unless the decisions come to count what was sent, no more and no less."""
    deadline = time.monotonic() + EXACT_WITHIN
    with Redis.from_url(url, decode_responses=True) as redis:
        while (counted := _counted(redis, filled)) != filled.tokens:
            if time.monotonic() > deadline:
                raise ConsumerFailed(f"{counted:,} tokens were counted of {filled.tokens:,}")
            time.sleep(0.2)


def _counted(redis: Redis, filled: log.Log) -> int:
    keys = list(redis.scan_iter(Keys(filled.topics.prefix).decision("model:*")))
    return sum(int(str(redis.hget(key, "counted") or 0)) for key in keys)
