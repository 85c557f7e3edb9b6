"""A whole deployment for stories: embedded broker, Redis and workers as processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from blastdoor_gateway.contract import Decision, Keys
from redis.asyncio import Redis

from rules.calendar import Calendar
from streams.embedded.stack import Plan, Stack, running
from streams.settings import Settings
from streams.ship.run import Job, ship
from streams.ship.tally import Tally
from streams.topics import Topics

SAMPLES = Path(__file__).parents[2] / "streams" / "samples"
RECORDINGS = (SAMPLES / "incident-2026-08-12.log", SAMPLES / "incident-2026-08-13.log")
MODEL = "deepseek-v4-flash-ga-260731"
PATIENCE = 30.0


@dataclass
class Deployment:
    """The addresses of a running deployment, and what a story does to it."""

    stack: Stack
    settings: Settings
    redis: Redis

    @property
    def topics(self) -> Topics:
        return Topics(self.settings.prefix)

    @property
    def keys(self) -> Keys:
        return Keys(self.settings.prefix, self.settings.legacy_prefix)

    async def ship(self, *files: Path) -> Tally:
        tally = Tally()
        await ship(Job(settings=self.settings, sources=files, zone=Calendar().zone), tally)
        return tally

    async def produce(self, topic: str, *values: bytes, key: bytes | None = None) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.stack.kafka, max_request_size=1 << 20) as producer:
            for value in values:
                await producer.send(topic, value, key=key)

    async def decision(self, model: str = MODEL, scope: str = "") -> Decision | None:
        found = await self.redis.hgetall(self.keys.decision(scope or f"model:{model}"))
        return Decision.from_hash(found) if found else None

    async def decided(self, wanted: Callable[[Decision], bool], model: str = MODEL, *, scope: str = "") -> Decision:
        """The first decision of a model, or of another scope, that is as wanted."""

        async def look() -> Decision | None:
            found = await self.decision(model, scope)
            return found if found is not None and wanted(found) else None

        found: Decision = await eventually(look)
        return found

    async def records(self, topic: str) -> list[Any]:
        """Everything on a topic."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.stack.kafka, auto_offset_reset="earliest", fetch_max_wait_ms=20
        )
        await consumer.start()
        try:
            partitions = [
                TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())
            ]
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            found: list[Any] = []
            for _ in range(20):  # the embedded broker tells the end of a partition only with a fetch
                batches = await consumer.getmany(timeout_ms=100)
                found += [record for batch in batches.values() for record in batch]
                ends = {tp: consumer.highwater(tp) for tp in partitions}
                done = [ends[tp] is not None and await consumer.position(tp) >= (ends[tp] or 0) for tp in partitions]
                if not batches and all(done):
                    break
            return found
        finally:
            await consumer.stop()

    async def kill_worker(self) -> None:
        """kill -9, and wait until its successor is at work."""
        (supervisor, *_) = self.stack.supervisors
        before = supervisor.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)

        async def successor() -> bool:
            return supervisor.pid not in (None, before)

        await eventually(successor)


async def eventually(look: Callable[[], Awaitable[Any]], patience: float = PATIENCE) -> Any:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + patience
    while not (found := await look()):
        assert time.monotonic() < deadline, f"not within {patience:g} s: {look}"
        await asyncio.sleep(0.05)
    return found


@pytest.fixture
def deploy(tmp_path: Path) -> Callable[..., Any]:
    """Starts a deployment: `async with deploy(event_clock=True) as deployment`."""

    @asynccontextmanager
    async def start(**plan: Any) -> AsyncIterator[Deployment]:
        async with running(Plan(log_dir=tmp_path, **plan)) as stack:
            settings = Settings(kafka=stack.kafka, redis=stack.redis)
            redis = Redis.from_url(stack.redis, decode_responses=True)
            try:
                yield Deployment(stack, settings.on_event_clock() if plan.get("event_clock") else settings, redis)
            finally:
                await redis.aclose()

    return start
