"""A worker with one toy step, run as a process by the tests: counts the records of each value, by partition.

Usage: counting.py KAFKA GROUP TOPIC PARTITIONS [how to misbehave]. Prints a line for each thing worth waiting for.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from streams.delivery import pulse
from streams.delivery.app import build_app, deliver
from streams.delivery.run import configure_logging, run
from streams.delivery.step import Flush, Moment, Observer, Output, Record, Restored

KAFKA, GROUP, TOPIC, PARTITIONS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
MISBEHAVE = sys.argv[5] if len(sys.argv) > 5 else ""


def say(*words: object) -> None:
    print(*words, flush=True)


class Counting:
    """Not idempotent on purpose: a record handled twice is a wrong count."""

    name = "counting"
    topic = TOPIC
    interval = 0.02
    lot = 500

    def __init__(self) -> None:
        self.counts: dict[int, Counter[str]] = {}
        self.changed: dict[int, set[str]] = {}
        self.incarnations: dict[int, int] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        self.counts[partition] = Counter(restored.rows)
        self.changed[partition] = set()
        self.incarnations[partition] = restored.incarnation
        if MISBEHAVE == "slow":
            say("taking", partition)
            await asyncio.sleep(4)
        say("assigned", partition, restored.position, restored.incarnation, restored.lost)
        if MISBEHAVE == "read back":
            seen = [record.offset async for batch in restored.log.before(restored.position, 50) for record in batch]
            say("read back", partition, seen[0] if seen else "", seen[-1] if seen else "", len(seen))

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        counts = self.counts[partition]
        for record in records:
            value = (record.value or b"").decode()
            if value == MISBEHAVE:
                raise TypeError("a mistake in the step")
            counts[value] += 1
            self.changed[partition].add(value)
        say("handled", partition, records[0].offset, records[-1].offset)

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        changed, self.changed[partition] = self.changed[partition], set()
        if not changed:
            return None
        if MISBEHAVE == "flush" and moment.position > 2_000:
            raise ValueError("a mistake in the flush")
        if MISBEHAVE == "never back" and moment.position > 2_000:
            pulse.STILL_SECONDS = pulse.LOOK_EVERY
            threading.Event().wait()
        counts = self.counts[partition]
        place = f"{self.incarnations[partition]} {moment.position}".encode()
        outputs = [
            Output(f"{TOPIC}.out", partition, f"{partition}|{value}".encode(), b"%d %s" % (counts[value], place))
            for value in changed
        ]
        return Flush(outputs, {value: counts[value] for value in changed})

    def revoked(self, partition: int) -> None:
        self.counts.pop(partition, None)
        say("revoked", partition)


class Telling(Observer):
    """Says what the step does not hear of."""

    def rebalanced(self, kept: int, taken: int) -> None:
        say("rebalanced", kept, taken)


@asynccontextmanager
async def beside() -> AsyncIterator[None]:
    """As an HTTP server would be."""
    if MISBEHAVE == "beside":
        raise OSError("the port is taken")
    say("running", os.getpid())
    yield


configure_logging()
app = build_app(
    GROUP,
    kafka=KAFKA,
    partitions=PARTITIONS,
    session_timeout=1.5,
    fetch_max_wait_ms=10,
    commit_interval=0.2,
    observer=Telling(),
)
deliver(app, Counting())
say("started", os.getpid())
sys.exit(run(app, beside()))
