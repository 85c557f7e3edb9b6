"""Looking at a log from the side: its begin and end, what stands at an offset, and the stretch before a position.

Each look uses a consumer of its own, outside any group, that lives for the look only. The end of a log is taken from
fetch answers: tansu answers ListOffsets(latest) with the base offset of the last batch + 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from rules.moment import Millis
from streams.delivery.errors import DeliveryError
from streams.delivery.resume import Found
from streams.delivery.step import Record
from streams.kafka import connection

LOOK_SECONDS = 20.0  # a broker that takes longer to answer is not there
_POLL_MS = 250
_GLANCE_BYTES = 64 * 1024  # for one record; a larger one is sent nevertheless
_STRETCH_BYTES = 1024 * 1024


async def ends(kafka: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The offset after the last record of each partition."""
    partitions = list(partitions)
    if not partitions:
        return {}  # and no consumer: aiokafka cannot stop one that has not had a turn of the loop
    async with _in_time("the ends of the logs"), _consumer(kafka, _GLANCE_BYTES) as consumer:
        listed: dict[TopicPartition, int] = await consumer.end_offsets(partitions)
        seen = await _look(consumer, {tp: end - 1 for tp, end in listed.items() if end > 0})
    return {tp: max(end, seen[tp].end) if tp in seen else end for tp, end in listed.items()}


async def inspect(kafka: str, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, Found]:
    """What stands just before each position, and the range of its log."""
    if not positions:
        return {}
    async with _in_time("the logs to go on in"), _consumer(kafka, _GLANCE_BYTES) as consumer:
        begins: dict[TopicPartition, int] = await consumer.beginning_offsets(list(positions))
        seen = await _look(consumer, {tp: at - 1 for tp, at in positions.items() if at > begins[tp]})
    unseen = {tp: Found(begin, max(begin, positions[tp]), None) for tp, begin in begins.items()}
    return unseen | {tp: look._replace(begin=begins[tp]) for tp, look in seen.items()}


async def _look(consumer: AIOKafkaConsumer, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, Found]:
    """The first record at or after each offset, with the end of its log; `begin` is left 0."""
    found: dict[TopicPartition, Found] = {}
    consumer.assign(list(offsets))
    for tp, offset in offsets.items():
        consumer.seek(tp, offset)
    while waiting := [tp for tp in offsets if tp not in found]:
        try:
            batches = await consumer.getmany(*waiting, timeout_ms=_POLL_MS)
        except OffsetOutOfRangeError as error:
            found |= {tp: Found(0, 0, None) for tp in error.args[0]}  # the log ends before the offset
            continue
        for tp in waiting:
            end, records = consumer.highwater(tp), batches.get(tp)
            if records:
                found[tp] = Found(0, end, records[0])
            elif end is not None and (
                end <= offsets[tp] or not batches
            ):  # nothing there, or all from there on compacted away
                found[tp] = Found(0, end, None)
    return found


class PartitionLog:
    """Reads one partition again. Implements `step.LogReader`."""

    def __init__(self, kafka: str, partition: TopicPartition) -> None:
        self._kafka = kafka
        self._partition = partition

    async def before(self, position: int, count: int) -> AsyncIterator[Sequence[Record]]:
        """The records at the `count` offsets before `position`, in order; fewer where the log starts later."""
        tp = self._partition
        async with _consumer(self._kafka, _STRETCH_BYTES) as consumer:
            async with _in_time(f"the start of {tp.topic}/{tp.partition}"):
                at = max(position - count, (await consumer.beginning_offsets([tp]))[tp])
            consumer.assign([tp])
            consumer.seek(tp, at)
            while at < position:
                async with _in_time(f"{tp.topic}/{tp.partition} from {at} on"):
                    records, at = await self._next(consumer, at)
                if wanted := [record for record in records if record.offset < position]:
                    yield wanted

    async def offset_at(self, instant: Millis) -> int | None:
        """The first record that was written at `instant` or later; None where there is none."""
        tp = self._partition
        async with (
            _in_time(f"the times of {tp.topic}/{tp.partition}"),
            _consumer(self._kafka, _GLANCE_BYTES) as consumer,
        ):
            found = (await consumer.offsets_for_times({tp: instant}))[tp]
        return None if found is None else int(found.offset)

    async def _next(self, consumer: AIOKafkaConsumer, at: int) -> tuple[Sequence[Record], int]:
        """The next batch and the position after it. An empty batch happens where compaction has left nothing."""
        while True:
            records = (await consumer.getmany(self._partition, timeout_ms=_POLL_MS)).get(self._partition, ())
            position: int = await consumer.position(self._partition)
            if position > at:
                return records, position


@asynccontextmanager
async def _consumer(kafka: str, fetch_bytes: int) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **connection(kafka),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="none",
        fetch_max_wait_ms=50,
        max_partition_fetch_bytes=fetch_bytes,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()


@asynccontextmanager
async def _in_time(what: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            yield
    except TimeoutError as error:
        msg = f"could not read {what} within {LOOK_SECONDS:.0f} s"
        raise DeliveryError(msg) from error
