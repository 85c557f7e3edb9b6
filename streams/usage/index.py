"""Where every tenant's days stand on the topic of roll-ups, so that any worker can answer for any tenant.

The topic is read once from its beginning and then followed, by keys alone: 4 KB of memory a tenant, whatever a day
holds (5,000 tenants: 20 MB; reading 1 GB takes some ten seconds). A table is fetched from Kafka when it is asked for.
Until the beginning has been read nothing is answered, as half of a sum would look like a whole one.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Iterator
from contextlib import asynccontextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, OffsetOutOfRangeError

from rules.calendar import Day
from rules.rollup import Rollup
from streams.delivery.log import ends
from streams.kafka import connection
from streams.topics import facts_partition

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

log = logging.getLogger(__name__)

SLOTS = 512  # days; more than are kept
PAUSE_SECONDS = 1.0
_POLL_MS = 200
_FETCH_BYTES = 1024 * 1024
ATTEMPTS = 3

_decode = msgspec.json.Decoder(Rollup).decode


class NotReadyError(Exception):
    """The topic has not been read to its end yet, or Kafka does not answer."""


class RollupIndex:
    """The offsets of tables by tenant and day."""

    def __init__(self, kafka: str, topic: str, partitions: int) -> None:
        self._kafka = kafka
        self._topic = topic
        self._partitions = partitions
        self._days: dict[str, array[int]] = {}  # day modulo SLOTS -> offset + 1; 0: none
        self._read_through = asyncio.Event()
        self._one = asyncio.Lock()
        self._fetcher: AIOKafkaConsumer | None = None

    async def ready(self) -> None:
        """Wait until everything that stood there when reading began is known."""
        await self._read_through.wait()

    def tenants(self) -> list[str]:
        """All tenants that have a table."""
        self._check()
        return sorted(self._days)

    async def tables(self, tenant: str, days: list[Day]) -> list[Rollup]:
        """The tables of a tenant's days that there are. Raises NotReadyError."""
        self._check()
        tp = TopicPartition(self._topic, facts_partition(f"tenant:{tenant}", self._partitions))
        try:
            async with self._one:
                found = [await self._table(tp, tenant, day) for day in days]
        except (KafkaError, OSError, TimeoutError) as error:
            raise NotReadyError("Kafka does not answer") from error
        return [table for table in found if table is not None]

    async def follow(self) -> None:
        """Read the topic until cancelled. A broker that goes away is waited for."""
        while True:
            try:
                await self._follow()
            except (KafkaError, OSError, TimeoutError) as error:
                log.warning("the roll-ups cannot be read (%s)", type(error).__name__)
            await asyncio.sleep(PAUSE_SECONDS)

    async def close(self) -> None:
        """Let go of the connection."""
        fetcher, self._fetcher = self._fetcher, None
        if fetcher is not None:
            await fetcher.stop()

    def _check(self) -> None:
        if not self._read_through.is_set():
            raise NotReadyError("the roll-ups are still being read")

    async def _follow(self) -> None:
        partitions = [TopicPartition(self._topic, number) for number in range(self._partitions)]
        behind = {tp: end for tp, end in (await ends(self._kafka, partitions)).items() if end > 0}
        async with _consumer(self._kafka) as consumer:
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            while True:
                for tp, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
                    self._note(records)
                    if records[-1].offset + 1 >= behind.get(tp, 0):
                        behind.pop(tp, None)
                for tp in list(behind):
                    if await consumer.position(tp) >= behind[tp]:
                        del behind[tp]
                if not behind:
                    self._read_through.set()

    def _note(self, records: list[Any]) -> None:
        for record in records:
            day, bar, tenant = (record.key or b"").decode("utf-8", "replace").partition("|")
            slot = _slot(day)
            if not bar or slot is None:
                continue
            days = self._days.get(tenant)
            if days is None:
                days = self._days[tenant] = array("q", bytes(8 * SLOTS))
            days[slot] = 0 if record.value is None else record.offset + 1

    async def _table(self, tp: TopicPartition, tenant: str, day: Day) -> Rollup | None:
        """A table replaced while it is fetched is looked for again where the newer one stands."""
        slot = _slot(day)
        for _ in range(ATTEMPTS):
            offsets = self._days.get(tenant)
            if offsets is None or slot is None or not offsets[slot]:
                return None
            found = await self._fetch(tp, offsets[slot] - 1)
            if found is not None and (found.tenant, found.day) == (tenant, day):
                return found
            await asyncio.sleep(_POLL_MS / 1000)
        return None

    async def _fetch(self, tp: TopicPartition, offset: int) -> Rollup | None:
        consumer = await self._connected()
        consumer.assign([tp])
        consumer.seek(tp, offset)
        with suppress(OffsetOutOfRangeError):
            async with asyncio.timeout(10):
                while True:
                    records = (await consumer.getmany(tp, timeout_ms=_POLL_MS, max_records=1)).get(tp, ())
                    if records:
                        return _read(records[0].value) if records[0].offset == offset else None
        return None

    async def _connected(self) -> AIOKafkaConsumer:
        if self._fetcher is None:
            consumer = _build(self._kafka)
            await consumer.start()
            self._fetcher = consumer
        return self._fetcher


def days_between(first: Day, last: Day) -> Iterator[Day]:
    """All days from the first to the last."""
    for ordinal in range(date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal() + 1):
        yield date.fromordinal(ordinal).isoformat()


def _slot(day: Day) -> int | None:
    try:
        return date.fromisoformat(day).toordinal() % SLOTS
    except ValueError:
        return None


def _read(value: bytes | None) -> Rollup | None:
    try:
        return _decode(value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _build(kafka: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        **connection(kafka),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
        max_partition_fetch_bytes=_FETCH_BYTES,
    )


@asynccontextmanager
async def _consumer(kafka: str) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = _build(kafka)
    try:
        await consumer.start()
        yield consumer
    finally:
        await consumer.stop()
