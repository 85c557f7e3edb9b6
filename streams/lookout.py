"""Looks at what blastdoor stands on: how many dead letters there are, how Redis is, which gates run open.

A look never raises for what it looks at: what cannot be found out is None in the sample.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from rules.moment import MINUTE, Millis
from rules.surroundings import Gate, Memory, Sample
from streams.delivery.errors import DeliveryError
from streams.delivery.log import ends
from streams.policy_watch import FileState
from streams.publish.link import Link
from streams.publish.observer import TROUBLES

log = logging.getLogger(__name__)

FRESH: Millis = 10 * MINUTE  # what a gate said longer ago says nothing of now
PATIENCE = 5.0  # seconds


class Report(msgspec.Struct):
    """What a gate writes into its field of `Keys.open_gates` when it let calls through without an answer."""

    at: Millis
    calls: int
    why: str = ""


@dataclass(slots=True)
class Lookout:
    """One look after the other. `kafka` and the topic of dead letters with its partitions; a Redis of our own."""

    kafka: str
    dead_letters: str
    partitions: int
    redis: Redis
    keys: Keys
    clock: Callable[[], Millis]
    policy: FileState = field(default_factory=FileState)

    async def look(self) -> Sample:
        """How things are now."""
        letters = await self._letters()
        try:
            info, reports = await self._ask()
        except TROUBLES as error:
            log.debug("Redis gives no answer (%s)", type(error).__name__)
            return Sample(at=self.clock(), dead_letters=letters, redis_away=True, policy=self.policy.refused)
        return Sample(
            at=self.clock(),
            dead_letters=letters,
            memory=_memory(info),
            gates=self._gates(reports),
            policy=self.policy.refused,
        )

    async def close(self) -> None:
        await self.redis.aclose()

    async def _letters(self) -> int | None:
        partitions = [TopicPartition(self.dead_letters, number) for number in range(self.partitions)]
        try:
            return sum((await ends(self.kafka, partitions)).values())
        except (KafkaError, DeliveryError, OSError) as error:
            log.debug("the dead letters cannot be counted (%s)", type(error).__name__)
            return None

    async def _ask(self) -> tuple[Any, Any]:
        """An error as an answer, for want of rights say, is an answer."""
        link = Link(self.redis, PATIENCE)
        info, reports = await link.ask([], ("INFO", "memory"), ("HGETALL", self.keys.open_gates))
        for answer in (info, reports):
            if isinstance(answer, Exception) and not isinstance(answer, ResponseError):
                raise answer
        return info, reports

    def _gates(self, reports: Any) -> tuple[Gate, ...]:
        found = []
        for name, text in sorted(reports.items()) if isinstance(reports, dict) else ():
            try:
                report = msgspec.json.decode(text, type=Report)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
            if report.calls > 0 and self.clock() - report.at <= FRESH:
                found.append(Gate(str(name), report.calls, report.why))
        return tuple(found)


def _memory(info: Any) -> Memory | None:
    if not isinstance(info, dict) or not isinstance(info.get("used_memory"), int):
        return None
    most = info.get("maxmemory")
    return Memory(info["used_memory"], most if isinstance(most, int) else 0)
