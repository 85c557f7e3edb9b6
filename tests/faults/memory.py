"""Memory over many events: `python -m tests.faults.memory`. Meter and judge in one process, no broker.

Fifty models and five thousand tenants, over as many days as it takes; the resident set and the rows after each stretch.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rules.moment import DAY, Millis
from rules.policy import Policy
from streams.delivery.step import Moment
from streams.facts_topic import FactsTopic
from streams.judge import JudgeStep
from streams.meter import Meter
from streams.metrics import Metrics
from streams.policy_file import default_rulebook
from streams.topics import Topics
from tests.streams.partition import Partition, Stored

START: Millis = 1_786_593_600_000
BATCH = 2_000
PAGE = 4096


class Size(NamedTuple):
    """What is held after so many events."""

    events: int
    rows: int
    books: int
    ids: int
    resident_mb: float


class Nobody:
    """A publisher that keeps nothing."""

    def offer(self, *_: object) -> None: ...
    def forget(self, *_: object) -> None: ...


class Chain:
    """One partition of usage, and the one of facts behind it."""

    def __init__(self, models: int, tenants: int, a_day: int) -> None:
        self.now = START
        self._models, self._tenants, self._pace = models, tenants, DAY // a_day
        self._chance = random.Random(1)
        self._numbers = itertools.count()
        topics, policy, metrics = Topics("m"), Policy(), Metrics()
        rulebook = default_rulebook(policy)
        self._facts = topics.facts
        self.meter = Meter(topics, FactsTopic(topics.facts, 1), policy, metrics, event_clock=False, clock=self.time)
        nobody: object = Nobody()
        self.judge = JudgeStep(
            topics,
            1,
            policy,
            rulebook,
            nobody,
            metrics,
            event_clock=False,
            clock=self.time,  # type: ignore[arg-type]
        )
        self.usage, self.facts = Partition(lambda: self.meter), Partition(lambda: self.judge)

    def time(self) -> Millis:
        return self.now

    def run(self, batches: int) -> None:
        """So many batches, each flushed and ruled on."""
        for _ in range(batches):
            self.usage.log = [self._event() for _ in range(BATCH)]
            self._step(self.usage)
            told = [output.value for output in self.usage.sent if output.topic == self._facts and output.value]
            first = self.facts.position
            self.facts.log = [Stored(first + number, value, self.now) for number, value in enumerate(told)]
            self._step(self.facts)

    def _step(self, partition: Partition) -> None:
        """Handle what its log holds, which is not kept."""
        partition.sent.clear()
        if partition.log:
            partition.step.handle(0, partition.log)
            partition.position = partition.log[-1].offset + 1
        flush = partition.step.flush(0, Moment(partition.position, True, self.now))
        partition.sent += flush.outputs if flush else ()
        for key, value in (flush.rows if flush else {}).items():
            if value is None:
                partition.rows.pop(key, None)
            else:
                partition.rows[key] = True

    def _event(self) -> Stored:
        number = next(self._numbers)
        self.now += self._pace
        call = {"type": "usage", "id": f"call-{number:024}", "ts": self.now / 1000, "total_tokens": 150}
        call |= {"model": f"m{number % self._models}", "tenant": f"t{self._chance.randrange(self._tenants)}"}
        return Stored(number, json.dumps(call).encode(), self.now)

    def size(self, events: int) -> Size:
        (metered,) = self.meter._partitions.values()
        (bench,) = self.judge._benches.values()
        rows = len(self.usage.rows) + len(self.facts.rows)
        return Size(events, rows, len(bench.judge.books), len(metered.meter.duplicates), resident())


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def curve(events: int, stretches: int, models: int = 50, tenants: int = 5_000, days: int = 20) -> Iterator[Size]:
    """The sizes after each stretch of the whole."""
    chain = Chain(models, tenants, events // days)
    for number in range(1, stretches + 1):
        chain.run(events // stretches // BATCH)
        yield chain.size(events * number // stretches)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    for size in curve(parser.parse_args().events, 20):
        print(f"{size.events:>9,} events {size.rows:>6,} rows {size.books:>4} books {size.ids:>7,} ids", end="")
        print(f" {size.resident_mb:>6.0f} MB", file=sys.stdout, flush=True)


if __name__ == "__main__":
    main()
