"""Memory over many events: `python -m tests.faults.memory`. Meter, judge, roll-ups and publisher in one process,
without a broker.

Fifty models and five thousand tenants, over as many days as it takes; what is held after each stretch. `--names` says
which lines of code hold what has been added since the stretch before last (three times as slow).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
import tracemalloc
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from blastdoor_gateway.contract import Keys

from rules.moment import DAY, Millis
from rules.policy import Policy
from streams.delivery.step import Moment, Record
from streams.facts_topic import FactsTopic
from streams.judge import JudgeStep
from streams.meter import Meter
from streams.metrics import Metrics
from streams.policy_file import default_rulebook
from streams.publish.client import open_redis
from streams.publish.publisher import Publisher
from streams.rollups import RollupStep
from streams.topics import Topics
from tests.streams.partition import Partition, Stored

START: Millis = 1_786_593_600_000
CHUNK = 500  # records handled at once
FLUSHED = 10_000  # records between two flushes; a worker that is behind takes more of them
PAGE = 4096


class Size(NamedTuple):
    """What is held after so many events: rows on the changelogs, scopes, ids of duplicates, tables of open days, what
    waits for Redis."""

    events: int
    rows: int
    books: int
    ids: int
    tables: int
    entries: int
    resident_mb: float


class Chain:
    """One partition of usage, and those of facts and sheets behind it."""

    def __init__(self, models: int, tenants: int, a_day: int) -> None:
        self.now = START
        self._models, self._tenants, self._pace = models, tenants, DAY // a_day
        self._chance = random.Random(1)
        self._numbers = itertools.count()
        self._flushed = min(FLUSHED, a_day)
        self._topics, policy, metrics = Topics("m"), Policy(), Metrics()
        facts, rulebook = FactsTopic(self._topics.facts, 1), default_rulebook(policy)
        self.publisher = _publisher(policy)
        self.meter = Meter(self._topics, facts, policy, metrics, event_clock=False, clock=self.time)
        self.judge = JudgeStep(
            self._topics, 1, policy, rulebook, self.publisher, metrics, event_clock=False, clock=self.time
        )
        self.rollups = RollupStep(self._topics, policy, metrics, _nothing)
        self.usage, self.facts = Partition(lambda: self.meter), Partition(lambda: self.judge)
        self.sheets = Partition(lambda: self.rollups)

    def time(self) -> Millis:
        return self.now

    def run(self, events: int) -> None:
        """So many events, flushed and ruled on now and then."""
        while events > 0:
            count = min(self._flushed, events)
            events -= count
            for start in range(0, count, CHUNK):
                self._handle(self.usage, [self._event() for _ in range(min(CHUNK, count - start))])
            self._flush(self.usage)
            for partition, topic in ((self.facts, self._topics.facts), (self.sheets, self._topics.sheets)):
                told = [output.value for output in self.usage.sent if output.topic == topic and output.value]
                first = partition.position
                self._handle(partition, [Stored(first + at, value, self.now) for at, value in enumerate(told)])
                self._flush(partition)

    @staticmethod
    def _handle(partition: Partition, records: Sequence[Stored]) -> None:
        if records:
            partition.step.handle(0, records)
            partition.position = records[-1].offset + 1

    def _flush(self, partition: Partition) -> None:
        """Of the rows the keys are kept, as a changelog would."""
        flush = partition.step.flush(0, Moment(partition.position, True, self.now))
        partition.sent = [*flush.outputs] if flush else []
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
        (desk,) = self.rollups._desks.values()
        return Size(
            events=events,
            rows=len(self.usage.rows) + len(self.facts.rows) + len(self.sheets.rows),
            books=len(bench.judge.books),
            ids=len(metered.meter.duplicates),
            tables=len(desk.tables._parts),
            entries=len(self.publisher._backlog),
            resident_mb=resident(),
        )


def _publisher(policy: Policy) -> Publisher:
    """It is offered everything and never run, as while Redis is away."""
    return Publisher(
        open_redis("redis://127.0.0.1:1/0"),
        Keys("m", ""),
        clock=lambda: START,
        calendar=policy.calendar(),
        worker="w",
        version="0",
        on_refused=lambda _, __: None,
        on_foreign_write=lambda _, __: None,
    )


async def _nothing(_: int) -> AsyncIterator[Sequence[Record]]:
    """No table of an earlier day is written anew."""
    for none in ():
        yield none


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def curve(events: int, stretches: int, models: int = 50, tenants: int = 5_000, days: int = 20) -> Iterator[Size]:
    """The sizes after each stretch of the whole."""
    chain = Chain(models, tenants, events // days)
    for number in range(1, stretches + 1):
        chain.run(events // stretches)
        yield chain.size(events * number // stretches)


def _name(before: tracemalloc.Snapshot) -> tracemalloc.Snapshot:
    """Print what was added since, by line."""
    now = tracemalloc.take_snapshot()
    for added in now.compare_to(before, "lineno")[:8]:
        print(f"    {added}")
    return now


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--names", action="store_true")
    given = parser.parse_args()
    snapshot = None
    if given.names:
        tracemalloc.start()
        snapshot = tracemalloc.take_snapshot()
    began = time.monotonic()
    for size in curve(given.events, 2 * given.days, days=given.days):
        told = f"{size.events:>9,} events {size.rows:>6,} rows {size.books:>5} books {size.ids:>6,} ids"
        told += f" {size.tables:>6,} tables {size.entries:>5,} waiting {size.resident_mb:>5.0f} MB"
        print(f"{told} {time.monotonic() - began:>5.0f} s", flush=True)
        if snapshot is not None:
            snapshot = _name(snapshot)


if __name__ == "__main__":
    main()
