"""The decision history on Kafka: the newest decision of a scope, and the one that was in force at an instant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import NamedTuple

from aiokafka import TopicPartition
from aiokafka.partitioner import DefaultPartitioner
from blastdoor_gateway.contract import Decision, UnknownSchemaError

from rules.facts import Scope
from rules.moment import MINUTE, Millis, from_datetime
from streams.delivery.log import PartitionLog, ends
from streams.topics import Topics, partition_count

FIRST_STRETCH = 1_000  # records looked through at first; each further stretch, going back, is four times as long
# No batch has more records. tansu knows the times of batches only, and answers with the first record of one.
BATCH = 1_000
# A decision is written when it is made; a broker's clock may differ by less than this.
CLOCKS_DIFFER: Millis = 5 * MINUTE


class Kept(NamedTuple):
    """A decision with the place where it is kept."""

    decision: Decision
    topic: str
    partition: int
    offset: int

    @property
    def origin(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"

    @property
    def at(self) -> Millis:
        """When it was decided."""
        return from_datetime(datetime.fromisoformat(self.decision.decided_at))


class History:
    """The decision topics under a prefix. `event_clock`: records were not written when they say they were decided."""

    def __init__(self, kafka: str, topics: Topics, *, event_clock: bool) -> None:
        self._kafka = kafka
        self._topics = topics
        self._event_clock = event_clock

    async def newest(self) -> dict[Scope, Kept]:
        """The newest decision of every scope. Raises BrokerUnavailable."""
        topic = self._topics.decisions_latest
        count = await partition_count(self._kafka, topic)
        partitions = [TopicPartition(topic, number) for number in range(count)]
        end = await ends(self._kafka, partitions)
        found: dict[Scope, Kept] = {}
        for several in await asyncio.gather(*(self._all(partition, end[partition]) for partition in partitions)):
            for kept in several:
                known = found.get(kept.decision.scope)
                if known is None or kept.decision.version >= known.decision.version:
                    found[kept.decision.scope] = kept
        return found

    async def latest(self, scope: Scope) -> Kept | None:
        """The newest decision of one scope: the part of the topic where it is, from its end. Raises
        BrokerUnavailable."""
        topic, key = self._topics.decisions_latest, scope.encode()
        numbers = list(range(await partition_count(self._kafka, topic)))
        partition = TopicPartition(topic, DefaultPartitioner()(key, numbers, numbers))
        end = (await ends(self._kafka, [partition]))[partition]
        log = PartitionLog(self._kafka, partition)
        return await self._back(log, partition, end, lambda kept: kept.decision.scope == scope)

    async def in_force(self, newest: Kept, at: Millis) -> Kept | None:
        """The decision of the same scope that was in force at `at`; None: the history does not reach back so far."""
        if newest.at <= at:
            return newest
        # Both topics have the same keys and as many partitions, so the scope is in the same one.
        partition = TopicPartition(self._topics.decisions, newest.partition)
        log = PartitionLog(self._kafka, partition)
        position = await self._start(log, partition, at)
        scope = newest.decision.scope
        return await self._back(log, partition, position, lambda kept: kept.decision.scope == scope and kept.at <= at)

    async def _back(
        self, log: PartitionLog, partition: TopicPartition, position: int, fits: Callable[[Kept], bool]
    ) -> Kept | None:
        """The newest of those that fit, looked for from a position back to the log's beginning."""
        stretch = FIRST_STRETCH
        while position > 0:
            best: Kept | None = None
            async for kept in self._stretch(log, partition, position, stretch):
                if fits(kept) and (best is None or kept.decision.version >= best.decision.version):
                    best = kept
            if best is not None:
                return best
            position, stretch = position - stretch, stretch * 4
        return None

    async def _start(self, log: PartitionLog, partition: TopicPartition, at: Millis) -> int:
        """Behind the last record that may have been in force at `at`."""
        end = (await ends(self._kafka, [partition]))[partition]
        found = None if self._event_clock else await log.offset_at(at + CLOCKS_DIFFER)
        return end if found is None else min(end, found + BATCH)

    async def _all(self, partition: TopicPartition, end: int) -> list[Kept]:
        log = PartitionLog(self._kafka, partition)
        return [kept async for kept in self._stretch(log, partition, end, end)] if end else []

    async def _stretch(
        self, log: PartitionLog, partition: TopicPartition, position: int, count: int
    ) -> AsyncIterator[Kept]:
        async for records in log.before(position, count):
            for record in records:
                decision = _read(record.value)
                if decision is not None:
                    yield Kept(decision, partition.topic, partition.partition, record.offset)


def _read(value: bytes | None) -> Decision | None:
    """None of what is no decision. Raises UnknownSchemaError: a newer engine must not be half understood."""
    try:
        return None if value is None else Decision.from_json(value)
    except UnknownSchemaError:
        raise
    except ValueError:
        return None
