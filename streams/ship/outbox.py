"""Sends parcels to Kafka and knows which of them have been acknowledged.

One producer, one batch under way per partition: what is put in first stands first in its partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.partitioner import murmur2

from streams.kafka import connection
from streams.ship.parcels import Parcel
from streams.ship.tally import Tally

CONNECT_SECONDS = 10.0


class NotDelivered(Exception):  # noqa: N818  a state of the world
    """The broker is not there, or did not acknowledge what was sent."""


class Outbox:
    """Parcels under way."""

    def __init__(self, producer: AIOKafkaProducer, partitions: int, tally: Tally) -> None:
        self.partitions = partitions
        self._producer = producer
        self._tally = tally
        self._under_way: list[tuple[Parcel, asyncio.Future[object]]] = []

    async def put(self, parcel: Parcel) -> None:
        """Hand a parcel over; waits only while too many are under way. Raises NotDelivered."""
        partition = partition_of(parcel.key, self.partitions) if parcel.partition is None else parcel.partition
        headers = [("origin", parcel.origin.encode())] if parcel.origin else []
        try:
            ack = await self._producer.send(
                parcel.topic, key=parcel.key, value=parcel.value, partition=partition, headers=headers
            )
        except KafkaError as error:
            raise NotDelivered(f"the broker takes nothing more: {_name(error)}") from error
        self._under_way.append((parcel, ack))

    async def settle(self) -> None:
        """Wait until all that was put in is acknowledged, and count it. Raises NotDelivered."""
        if self._under_way:
            await asyncio.wait([ack for _, ack in self._under_way])
        failures = self._count()
        if failures:
            msg = f"{len(failures):,} records were not acknowledged: {_name(failures[0])}"
            raise NotDelivered(msg) from failures[0]

    async def close(self) -> None:
        """Send what is under way and count what the broker still acknowledges."""
        await self._producer.stop()
        self._count()

    def _count(self) -> list[BaseException]:
        """Count what is acknowledged, keep nothing under way; what became of the rest."""
        failures = []
        for parcel, ack in self._under_way:
            failure = ack.exception() if ack.done() and not ack.cancelled() else asyncio.CancelledError()
            if failure is None:
                self._tally.sent[parcel.kind] += 1
            else:
                failures.append(failure)
        self._under_way.clear()
        return failures


@asynccontextmanager
async def open_outbox(kafka: str, partitions: int, tally: Tally) -> AsyncIterator[Outbox]:
    """An outbox with a producer of its own, which is flushed in the end. Raises NotDelivered."""
    producer = AIOKafkaProducer(**connection(kafka), acks="all", linger_ms=2)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await producer.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await producer.stop()
        msg = f"no Kafka broker answers at {kafka}"
        raise NotDelivered(msg) from error
    outbox = Outbox(producer, partitions, tally)
    try:
        yield outbox
    finally:
        await outbox.close()


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a key, as Kafka's default partitioner and every other client of it compute it."""
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


def _name(error: BaseException) -> str:
    return str(error) or type(error).__name__
