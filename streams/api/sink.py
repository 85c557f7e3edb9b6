"""Parcels to Kafka for many requests at once: each waits for its own acknowledgements."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.kafka import connection
from streams.ship.outbox import partition_of
from streams.ship.parcels import Parcel
from streams.trails import TRACE

ACK_SECONDS = 10.0


class Sink:
    """One producer, started at the first use, inside the running loop."""

    def __init__(self, kafka: str, partitions: int, patience: float = ACK_SECONDS) -> None:
        self._kafka = kafka
        self._partitions = partitions
        self._patience = patience
        self._started: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()

    async def send(self, parcels: Sequence[Parcel]) -> set[int]:
        """Which of the parcels, by place, were not acknowledged in time. They may be stored all the same."""
        acks: dict[int, asyncio.Future[object]] = {}
        try:
            async with asyncio.timeout(self._patience):
                producer = await self._producer()
                for place, parcel in enumerate(parcels):
                    acks[place] = await self._put(producer, parcel)
                await asyncio.wait(acks.values())
        except (TimeoutError, KafkaError, OSError):
            pass
        return {place for place in range(len(parcels)) if not _acknowledged(acks.get(place))}

    async def close(self) -> None:
        producer, self._started = self._started, None
        if producer is not None:
            await producer.stop()

    async def _put(self, producer: AIOKafkaProducer, parcel: Parcel) -> asyncio.Future[object]:
        partition = partition_of(parcel.key, self._partitions) if parcel.partition is None else parcel.partition
        marks = (("origin", parcel.origin.encode()), (TRACE, parcel.trace))
        headers = [(name, value) for name, value in marks if value]
        ack: asyncio.Future[object] = await producer.send(
            parcel.topic, key=parcel.key, value=parcel.value, partition=partition, headers=headers
        )
        ack.add_done_callback(_hear)
        return ack

    async def _producer(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._started is None:
                producer = AIOKafkaProducer(**connection(self._kafka), acks="all", linger_ms=2)
                try:
                    await producer.start()
                except BaseException:
                    await producer.stop()
                    raise
                self._started = producer
        return self._started


def _acknowledged(ack: asyncio.Future[object] | None) -> bool:
    return ack is not None and ack.done() and not ack.cancelled() and ack.exception() is None


def _hear(ack: asyncio.Future[object]) -> None:
    """Nobody may be waiting for it any more; a failure that nobody hears of would be logged with its traceback."""
    if not ack.cancelled():
        ack.exception()
