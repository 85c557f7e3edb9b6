"""All orders that stand on the topics, read from there and from nowhere else."""

from __future__ import annotations

import asyncio
from datetime import tzinfo
from typing import NamedTuple

from aiokafka import TopicPartition

from rules.intake.reader import Intake
from rules.records import Calibration, Control
from streams.delivery.log import PartitionLog, ends
from streams.delivery.step import Record
from streams.orders.order import Order
from streams.topics import Topics, partition_count

CALIBRATION = b'"calibration"'  # what every one holds: readings, which are many, are not decoded


class Filed(NamedTuple):
    """An order with the place where it stands."""

    order: Order
    origin: str


class Archive:
    """Orders by id; the first of an id is the one that counts. What was read once is not read again."""

    def __init__(self, kafka: str, topics: Topics, zone: tzinfo) -> None:
        self._kafka = kafka
        self._topics = topics
        self._intake = Intake(zone)
        self._found: dict[str, Filed] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._reading = asyncio.Lock()

    async def all(self) -> list[Filed]:
        """Every order that is kept, the oldest first. Raises BrokerUnavailable and what reading a log raises."""
        async with self._reading:
            await self._read(self._topics.controls)
            await self._read(self._topics.balances)
        return sorted(self._found.values(), key=lambda filed: filed.order.at)

    async def find(self, order: Order) -> Filed | None:
        """The order of the same id, if there is one. Only the topic that could hold it is read."""
        topic = self._topics.controls if isinstance(order, Control) else self._topics.balances
        async with self._reading:
            await self._read(topic)
        return self._found.get(order.id)

    async def _read(self, topic: str) -> None:
        count = await partition_count(self._kafka, topic)
        partitions = [TopicPartition(topic, number) for number in range(count)]
        for partition, end in (await ends(self._kafka, partitions)).items():
            known = self._positions.get(partition, 0)
            known = 0 if known > end else known  # the topic was made anew
            if known < end:
                async for records in PartitionLog(self._kafka, partition).before(end, end - known):
                    for record in records:
                        self._file(partition, record)
            self._positions[partition] = end

    def _file(self, partition: TopicPartition, record: Record) -> None:
        value = record.value or b""
        if partition.topic == self._topics.balances and CALIBRATION not in value:
            return
        found = self._intake.read(value)
        if isinstance(found, Control | Calibration):
            origin = f"{partition.topic}/{partition.partition}/{record.offset}"
            self._found.setdefault(found.id, Filed(found, origin))
