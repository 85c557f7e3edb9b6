"""A prefix of one's own on the shared broker, and what stands in its topics."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from streams.topics import Topics, ensure_topics

WITHIN = 20.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Target:
    """Where a test ships to."""

    kafka: str
    prefix: str

    @property
    def topics(self) -> Topics:
        return Topics(self.prefix)

    @property
    def event_topics(self) -> Topics:
        return Topics(f"{self.prefix}-event")

    @property
    def options(self) -> list[str]:
        return ["--kafka", self.kafka, "--prefix", self.prefix]

    def read(self, topic: str) -> list[ConsumerRecord]:
        """All records of a topic, those of a partition in order."""
        return asyncio.run(self.read_all(topic))

    async def read_all(self, topic: str, at_least: int = 0) -> list[ConsumerRecord]:
        """The same, once there are so many."""
        partitions = range(await ensure_topics(self.kafka, topic.rpartition(".")[0]))
        async with asyncio.timeout(WITHIN):
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self.kafka,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=10,
                max_partition_fetch_bytes=4 << 20,
            )
            await consumer.start()
            try:
                return await _all(consumer, [TopicPartition(topic, partition) for partition in partitions], at_least)
            finally:
                await consumer.stop()


async def _all(consumer: AIOKafkaConsumer, assigned: list[TopicPartition], at_least: int) -> list[ConsumerRecord]:
    consumer.assign(assigned)
    found: list[ConsumerRecord] = []
    while True:
        batches = await consumer.getmany(timeout_ms=50)
        found += [record for batch in batches.values() for record in batch]
        ends = [consumer.highwater(partition) for partition in assigned]
        positions = [await consumer.position(partition) for partition in assigned]
        at_end = all(end is not None and position >= end for position, end in zip(positions, ends, strict=True))
        if at_end and len(found) >= at_least:
            return sorted(found, key=lambda record: (record.partition, record.offset))


@pytest.fixture
def target(broker: str) -> Target:
    return Target(broker, f"ship-{next(_numbers)}")
