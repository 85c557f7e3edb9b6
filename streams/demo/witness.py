"""Reads the decisions that the worker writes to Kafka, as any reader of that topic would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from aiokafka import AIOKafkaConsumer, TopicPartition
from blastdoor_gateway.contract import Decision

from rules.facts import Scope
from rules.moment import Millis, from_datetime
from rules.records import Reading
from streams.topics import TANSU


def decided_at(decision: Decision) -> Millis:
    return from_datetime(datetime.fromisoformat(decision.decided_at))


class Witness:
    """All decisions about a scope so far, oldest first. `heard` is told of each."""

    def __init__(self, scope: Scope, heard: Callable[[Decision], None]) -> None:
        self.decisions: list[Decision] = []
        self._scope = scope
        self._heard = heard
        self._news = asyncio.Event()

    async def watch(self, kafka: str, topic: str, partitions: int) -> None:
        """Until cancelled."""
        consumer = AIOKafkaConsumer(bootstrap_servers=kafka, fetch_max_wait_ms=TANSU.fetch_max_wait_ms)
        await consumer.start()
        try:
            places = [TopicPartition(topic, partition) for partition in range(partitions)]
            consumer.assign(places)
            await consumer.seek_to_beginning(*places)
            async for message in consumer:
                self.take(Decision.from_json(message.value))
        finally:
            await consumer.stop()

    async def reached(self, end: Millis) -> None:
        """Returns once a decision of this instant has come."""
        while not self.decisions or decided_at(self.decisions[-1]) < end:
            self._news.clear()
            await self._news.wait()

    def on(self, reading: Reading) -> Decision | None:
        """What was decided at the instant of a reading, with that reading among its grounds."""
        found = [
            decision
            for decision in self.decisions
            if decided_at(decision) == reading.at and reading.id in decision.readings
        ]
        return max(found, key=lambda decision: decision.version, default=None)

    def at(self, instant: Millis) -> Decision | None:
        """What held then."""
        before = [decision for decision in self.decisions if decided_at(decision) <= instant]
        return max(before, key=lambda decision: decision.version, default=None)

    def take(self, decision: Decision) -> None:
        """Note a decision, if it is about the scope."""
        if decision.scope != self._scope:
            return
        self.decisions.append(decision)
        self._heard(decision)
        self._news.set()
