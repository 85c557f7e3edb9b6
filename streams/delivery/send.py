"""Sending: every method returns when the broker has acknowledged everything, and raises if it has not."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from streams.delivery.book import Entry
from streams.delivery.errors import DeliveryError
from streams.delivery.step import Headers, Output
from streams.kafka import connection
from streams.topics import LARGEST_ROW

_BATCH_BYTES = 256 * 1024

_Sent = tuple[bytes, bytes | None, Headers]


class Sender:
    """The one producer of a worker, shared by all its partitions."""

    def __init__(self, kafka: str) -> None:
        self._kafka = kafka
        self._started: AIOKafkaProducer | None = None
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def start(self) -> None:
        self._started = AIOKafkaProducer(
            **connection(self._kafka),
            acks="all",
            linger_ms=0,
            max_batch_size=_BATCH_BYTES,
            max_request_size=LARGEST_ROW,
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
        groups: defaultdict[tuple[str, int], list[_Sent]] = defaultdict(list)
        acknowledged: set[asyncio.Future[Any]] = set()
        for topic, partition, key, value, headers in outputs:
            if partition is None:
                acknowledged.add(await self._send_by_key(topic, key, value, headers))
            else:
                groups[topic, partition].append((key, value, headers))
        acknowledged |= {self._lane(*place).add(entries) for place, entries in groups.items()}
        await _all(acknowledged)

    async def _send_by_key(self, topic: str, key: bytes, value: bytes | None, headers: Headers) -> asyncio.Future[Any]:
        """One at a time for each topic: aiokafka counts the time that records wait for one another several times over,
        so that many flushes on a busy machine time out without need."""
        async with self._turns[topic]:
            future: asyncio.Future[Any] = await self._producer.send(topic, value, key, headers=[*headers])
            return future

    async def append(self, topic: str, partition: int, entries: Sequence[Entry]) -> int:
        """Append records to one partition in order; the batch with the last one goes only when all before it are safe.

        Answers the offset of the first.
        """
        *before, last = _batches(self._producer, ((key, value, ()) for key, value in entries))
        try:
            safe = await asyncio.gather(*[await self._put(batch, topic, partition) for batch in before])
            safe.append(await (await self._put(last, topic, partition)))
        except MessageSizeTooLargeError as error:
            key, value = max(entries, key=lambda entry: len(entry[1] or b""))
            told = f"{topic}/{partition}: the broker refuses {key[:80]!r} of {len(value or b''):,} bytes"
            raise DeliveryError(f"{told}: raise the topic's max.message.bytes to {LARGEST_ROW}") from error
        return int(safe[0].offset)

    async def _put(self, batch: Any, topic: str, partition: int) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = await self._producer.send_batch(batch, topic, partition=partition)
        return future

    def _lane(self, topic: str, partition: int) -> Lane:
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = self._lanes[topic, partition] = Lane(self._producer, topic, partition)
        return lane


class Lane:
    """What goes to one partition: while records are under way the next ones gather, whoever sends them.

    The busier the broker, the larger the batches; a batch costs a client about as much as ten single records.
    """

    def __init__(self, producer: AIOKafkaProducer, topic: str, partition: int) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._gathered: list[_Sent] = []
        self._safe: asyncio.Future[None] | None = None  # once what has gathered is acknowledged
        self._task: asyncio.Task[None] | None = None

    def add(self, entries: Sequence[_Sent]) -> asyncio.Future[None]:
        """Done when these are acknowledged. Others wait for it, too: do not cancel it."""
        self._gathered += entries
        if self._safe is None:
            self._safe = asyncio.get_running_loop().create_future()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name=f"send to {self._topic}/{self._partition}")
        return self._safe

    async def _run(self) -> None:
        while (safe := self._safe) is not None:
            entries, self._gathered, self._safe = self._gathered, [], None
            try:
                await self._deliver(entries)
            except Exception as error:  # noqa: BLE001 - whoever waits is told, and ends the process
                safe.set_exception(error)
            else:
                safe.set_result(None)
        self._task = None

    async def _deliver(self, entries: Sequence[_Sent]) -> None:
        batches = _batches(self._producer, entries)
        await _all(
            {await self._producer.send_batch(batch, self._topic, partition=self._partition) for batch in batches}
        )


def _batches(producer: AIOKafkaProducer, entries: Iterable[_Sent]) -> Iterator[Any]:
    batch = producer.create_batch()
    for key, value, headers in entries:
        if batch.append(key=key, value=value, timestamp=None, headers=[*headers]) is None:  # full
            yield batch
            batch = producer.create_batch()
            batch.append(key=key, value=value, timestamp=None, headers=[*headers])
    batch.close()
    yield batch


async def _all(acknowledged: set[asyncio.Future[Any]]) -> None:
    """Wait for all; raise the first error. Unlike `gather` it cancels none of them when it is cancelled itself."""
    if acknowledged:
        await asyncio.wait(acknowledged)
    for future in acknowledged:
        future.result()
