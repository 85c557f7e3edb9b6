"""From a usage event to the decision key in Redis: a worker, a producer and a subscriber, each a process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.log import PARTITIONS, Log
from bench.probes import A_SECOND, MODELS
from bench.processes import ConsumerFailed, start
from bench.worker import Workers
from streams.embedded.children import Child
from streams.topics import detect_timing

WARM = 2 * A_SECOND  # probes left out: connections are made, code is warm
ROUND = MODELS * PARTITIONS  # probes after which models and partitions begin anew together
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from sending to being seen."""

    p50: float
    p99: float

    @classmethod
    def of(cls, sent: Mapping[str, float], seen: Mapping[str, float]) -> Latency:
        """`sent` in the order of sending, of which the first are left out."""
        taken = sorted(seen[number] - at for number, at in list(sent.items())[WARM:] if number in seen)
        return cls(taken[len(taken) // 2] * 1000, taken[len(taken) * 99 // 100] * 1000)


@dataclass(frozen=True, slots=True)
class Followed:
    """At one rate: event → key, and produce → consume without us in between."""

    key: Latency
    harness: Latency


class Bed:
    """A worker that has read its log, and stretches of traffic one after another."""

    def __init__(self, kafka: str, log: Log, workers: Workers) -> None:
        self._kafka = kafka
        self._log = log
        self._workers = workers
        self._event = log.events
        self._probe = 0
        self._max_wait = asyncio.run(detect_timing(kafka)).fetch_max_wait_ms

    def follow(self, rate: int, seconds: float) -> Followed:
        """Traffic at a rate (0: probes alone), and what became of its probes."""
        first, probes = self._probe, round(seconds * A_SECOND / ROUND) * ROUND
        prefix, topic = self._log.topics.prefix, self._log.topics.usage
        last = first + probes - PARTITIONS  # of the partition that is listened to
        with TemporaryDirectory(prefix="blastdoor-bench-") as directory:
            sent, seen, heard = (Path(directory) / name for name in ("sent", "seen", "heard"))
            children = [
                start("watcher", self._workers.redis, prefix, first, probes, seen),
                start("listener", self._kafka, topic, self._max_wait, last, heard),
                start("traffic", self._kafka, prefix, rate, self._event, first, probes, sent),
            ]
            at, key, harness = _finished(children, (sent, seen, heard), seconds + PATIENCE)
        self._event += int(rate * (seconds + 1))
        self._probe += probes
        return Followed(Latency.of(at, key), Latency.of(at, harness))


def _finished(children: list[Child], files: tuple[Path, ...], within: float) -> list[dict[str, float]]:
    try:
        for child in children:
            if child.wait(within):
                raise ConsumerFailed(f"{child.name} ended with {child.returncode}\n{child.tail()}")
    finally:
        for child in children:
            child.kill()
    return [json.loads(file.read_text()) for file in files]
