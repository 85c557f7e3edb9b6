"""Usage under way while faults happen, and the ledger of what was really sent: the count that nobody else keeps."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from aiokafka import AIOKafkaProducer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

LIMITED = "limited"
MODELS = (LIMITED, *(f"m{number}" for number in range(8)))
REMEMBERED = 2_000  # calls that may be told twice: far fewer offsets than a duplicate is looked for
PAUSE = 0.05


class Call(NamedTuple):
    """One call of a gateway."""

    id: str
    model: str
    tokens: int

    def encode(self) -> bytes:
        usage = {"type": "usage", "id": self.id, "ts": time.time(), "model": self.model, "total_tokens": self.tokens}
        return json.dumps(usage).encode()


@dataclass
class Ledger:
    """Calls by their distinct ids, and what is no call."""

    tokens: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    repeats: int = 0
    unreadable: int = 0

    def book(self, call: Call) -> None:
        self.tokens[call.model] += call.tokens
        self.calls[call.model] += 1


class Load:
    """Sends calls, tells some of them twice, and sends what nobody can read."""

    def __init__(self, kafka: str, topic: str, chance: random.Random, name: str, repeated: float = 0.05) -> None:
        self.ledger = Ledger()
        self._kafka = kafka
        self._topic = topic
        self._chance = chance
        self._name = name
        self._repeated = repeated
        self._sent = 0
        self._recent: deque[Call] = deque(maxlen=REMEMBERED)

    @asynccontextmanager
    async def running(self, rate: int) -> AsyncIterator[None]:
        """So many calls a second meanwhile; all are with the broker at the end."""
        enough = asyncio.Event()
        task = asyncio.create_task(self._run(rate, enough))
        try:
            yield
        finally:
            enough.set()
            await task

    async def _run(self, rate: int, enough: asyncio.Event) -> None:
        async with self._producer() as producer:
            while not enough.is_set():
                await self._tell(producer, [self._call() for _ in range(round(rate * PAUSE))])
                await asyncio.sleep(PAUSE)

    async def send(self, count: int) -> None:
        """So many calls at once."""
        async with self._producer() as producer:
            await self._tell(producer, [self._call() for _ in range(count)])

    async def send_unreadable(self, count: int) -> None:
        """So many records that become dead letters."""
        async with self._producer() as producer:
            sent = [(f"x{number}".encode(), b'{"type":"usage","id":"broken') for number in range(count)]
            await self._deliver(producer, sent, once=True)
        self.ledger.unreadable += count

    def forget(self) -> None:
        """Repeat nothing that was sent so far."""
        self._recent.clear()

    def _call(self) -> Call:
        self._sent += 1
        return Call(f"{self._name}-{self._sent}", self._chance.choice(MODELS), self._chance.randrange(1, 300))

    async def _tell(self, producer: AIOKafkaProducer, calls: Sequence[Call]) -> None:
        again = [self._chance.choice(self._recent) for call in calls if self._recent and self._repeats()]
        await self._deliver(producer, [(call.id.encode(), call.encode()) for call in (*calls, *again)])
        for call in calls:
            self.ledger.book(call)
        self.ledger.repeats += len(again)
        self._recent.extend(calls)

    def _repeats(self) -> bool:
        return self._chance.random() < self._repeated

    async def _deliver(
        self, producer: AIOKafkaProducer, records: list[tuple[bytes, bytes]], once: bool = False
    ) -> None:
        """Until the broker has all of them. Not knowing whether one has arrived, a gateway sends it again."""
        while records:
            sent = [producer.send(self._topic, value, key) for key, value in records]
            ends = await asyncio.gather(*[self._acknowledged(each) for each in sent])
            records = [record for record, end in zip(records, ends, strict=True) if not end]
            assert not (records and once), "the broker refuses records"

    async def _acknowledged(self, sending: object) -> bool:
        try:
            await (await sending)  # type: ignore[misc]
        except Exception:  # noqa: BLE001 - whatever it is, it is sent again
            await asyncio.sleep(0.2)
            return False
        return True

    @asynccontextmanager
    async def _producer(self) -> AsyncIterator[AIOKafkaProducer]:
        producer = AIOKafkaProducer(bootstrap_servers=self._kafka, acks="all", linger_ms=5, request_timeout_ms=15_000)
        await producer.start()
        try:
            yield producer
        finally:
            await producer.stop()
