"""Sending: every method returns when the broker has acknowledged everything, and raises if it has not."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer

from streams.delivery.book import Entry
from streams.delivery.step import Headers, Output
from streams.kafka import connection

# A batch built here spares a future per record but travels alone; from about this many records on it is the cheaper
# way.
_BATCH_FROM = 32
_BATCH_BYTES = 256 * 1024

_Sent = tuple[bytes, bytes | None, Headers]


class Sender:
    """The one producer of a worker, shared by all its partitions."""

    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._started: AIOKafkaProducer | None = None
        self._turns: defaultdict[tuple[str, int | None], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def start(self) -> None:
        self._started = AIOKafkaProducer(
            **connection(self._kafka), acks="all", linger_ms=0, max_batch_size=_BATCH_BYTES
        )
        await self._started.start()

    async def stop(self) -> None:
        producer, self._started = self._started, None
        if producer is not None:
            await producer.stop()

    @property
    def _producer(self) -> AIOKafkaProducer:
        if self._started is None:
            msg = "the sender is not started"
            raise RuntimeError(msg)
        return self._started

    async def send(self, outputs: Iterable[Output]) -> None:
        """Send records of any topics, each partition's in the order given."""
        groups: defaultdict[tuple[str, int | None], list[_Sent]] = defaultdict(list)
        for topic, partition, key, value, headers in outputs:
            groups[topic, partition].append((key, value, headers))
        acknowledged: list[asyncio.Future[Any]] = []
        for (topic, partition), entries in groups.items():
            async with self._turns[topic, partition]:
                acknowledged += await self._enqueue(topic, partition, entries)
        await asyncio.gather(*acknowledged)

    async def _enqueue(self, topic: str, partition: int | None, entries: Sequence[_Sent]) -> list[asyncio.Future[Any]]:
        """One at a time for each partition: aiokafka counts the time that batches wait for one another several times
        over, so that many flushes to one partition on a busy machine time out without need."""
        if partition is None or len(entries) < _BATCH_FROM:
            return [
                await self._producer.send(topic, value, key, partition, headers=[*headers])
                for key, value, headers in entries
            ]
        return [await self._put(batch, topic, partition) for batch in self._batches(entries)]

    async def append(self, topic: str, partition: int, entries: Sequence[Entry]) -> int:
        """Append records to one partition in order; the batch with the last one goes only when all before it are safe.

        Answers the offset of the first.
        """
        *before, last = self._batches((key, value, ()) for key, value in entries)
        safe = await asyncio.gather(*[await self._put(batch, topic, partition) for batch in before])
        safe.append(await (await self._put(last, topic, partition)))
        return int(safe[0].offset)

    async def _put(self, batch: Any, topic: str, partition: int) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = await self._producer.send_batch(batch, topic, partition=partition)
        return future

    def _batches(self, entries: Iterable[_Sent]) -> Iterator[Any]:
        batch = self._producer.create_batch()
        for key, value, headers in entries:
            if batch.append(key=key, value=value, timestamp=None, headers=[*headers]) is None:  # full
                yield batch
                batch = self._producer.create_batch()
                batch.append(key=key, value=value, timestamp=None, headers=[*headers])
        batch.close()
        yield batch
