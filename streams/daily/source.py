"""Differences of `daily_usage` counters become usage events, each once.

What is about to be told is written down first, told under an id made of it, and then marked as told. A crash in between
tells the same again under the same id, and the meter counts it once. A counter that is lower than before began anew, so
all of it is new. If our own notes are lost with the counters still there, they are counted again: it falls closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from importlib.resources import files

import msgspec
from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis
from redis.exceptions import RedisError

from rules.calendar import Day
from rules.legacy import GATE_DAYS
from rules.moment import DAY, Millis
from rules.records import Usage
from streams.poll.lease import Lease

log = logging.getLogger(__name__)

PAUSE = 10.0  # seconds between two looks
SCAN_COUNT = 1_000
LIVES: Millis = 3 * DAY

Send = Callable[[Usage], Awaitable[None]]
"""Returns once it is acknowledged. Raises NotDelivered."""


class Mark(msgspec.Struct, omit_defaults=True):
    """What was told of a counter. `to` above 0: the stretch from `sent` to there is being told."""

    sent: int = 0
    to: int = 0
    life: int = 0  # grows when the counter began anew


class DailySource:
    """Reads the counters of one gateway. `hashes`: of the keys that it alone counts under; none: all there are."""

    def __init__(
        self,
        redis: Redis,
        keys: Keys,
        gateway: str,
        hashes: Collection[str],
        send: Send,
        lease: Lease,
        clock: Callable[[], Millis],
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._gateway = gateway
        self._hashes = frozenset(hashes)
        self._send = send
        self._lease = lease
        self._clock = clock
        self._swap = redis.register_script((files(__package__) / "swap.lua").read_text(encoding="utf-8"))

    async def run(self) -> None:
        """Until cancelled. Raises NotDelivered when Kafka does not take an event."""
        try:
            while True:
                try:
                    await self.turn()
                except (RedisError, OSError, TimeoutError) as error:
                    log.warning("%s: Redis does not answer (%s)", self._gateway, type(error).__name__)
                await asyncio.sleep(PAUSE)
        finally:
            await self._lease.give_back()

    async def turn(self) -> None:
        """One look at all counters, if this process is the one that looks."""
        if not await self._lease.take():
            return
        now = self._clock()
        today = GATE_DAYS.day(now)
        for day in (GATE_DAYS.previous(today), today):
            async for name, value in self._counters(day):
                await self._advance(day, name, value, min(now, GATE_DAYS.end(day) - 1))

    async def _counters(self, day: Day) -> AsyncIterator[tuple[str, int]]:
        """`model:hash` with what stands there; what is no number was written by nobody we know."""
        begin = self._keys.daily_usages(day)
        literal = "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in begin)
        async for key in self._redis.scan_iter(f"{literal}*", SCAN_COUNT):
            name = str(key).removeprefix(begin)
            if self._hashes and name.rpartition(":")[2] not in self._hashes:
                continue
            value = await self._redis.get(key)
            if value is not None and value.isascii() and value.isdigit():
                yield name, int(value)

    async def _advance(self, day: Day, name: str, value: int, at: Millis) -> None:
        place = f"{self._keys.prefix}:counted:{day}"
        raw = str(await self._redis.hget(place, name) or "")
        mark = msgspec.json.decode(raw, type=Mark) if raw else Mark()
        if not mark.to:
            known = mark if value >= mark.sent else Mark(life=mark.life + 1)
            mark = Mark(known.sent, value if value > known.sent else 0, known.life)
            if _text(mark) != raw and not await self._write(place, name, raw, mark):
                return
            if not mark.to:
                return
            raw = _text(mark)
        await self._send(self._event(day, name, mark, at))
        await self._write(place, name, raw, Mark(sent=mark.to, life=mark.life))

    async def _write(self, place: str, name: str, before: str, mark: Mark) -> bool:
        return bool(await self._swap(keys=[place], args=[name, before, _text(mark), str(LIVES)]))

    def _event(self, day: Day, name: str, mark: Mark, at: Millis) -> Usage:
        model, _, key_hash = name.rpartition(":")
        stretch = f"{day}|{name}|{mark.life}|{mark.sent}|{mark.to}"
        return Usage(
            id=f"daily-{hashlib.sha256(stretch.encode()).hexdigest()[:32]}",
            at=at,
            model=model,
            total_tokens=mark.to - mark.sent,
            key_hash=key_hash,
            source=self._gateway,
        )


def _text(mark: Mark) -> str:
    return msgspec.json.encode(mark).decode()
