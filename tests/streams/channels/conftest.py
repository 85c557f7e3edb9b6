"""Alerts, clocks and notes to test channels with."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.alerts import Alert, Kind, Severity, alert_id
from streams.channels.messages import message
from streams.channels.receiver import Receiver
from streams.channels.sender import Note
from streams.channels.timing import Timing
from streams.channels.wire import Wire

AT = 1_786_591_320_000  # 2026-08-13 11:22:00 +08:00
ZONE = ZoneInfo("Asia/Shanghai")


def _alert(**fields: Any) -> Alert:
    known: dict[str, Any] = {
        "kind": Kind.THRESHOLD,
        "severity": Severity.WARNING,
        "scope": "model:deepseek-v4-flash",
        "at": AT,
        "window": "2026-08-13",
        "threshold": 0.8,
        "used": 1_790_000,
        "limit": 2_232_178,
        "pool_low": 2_242_178,
        "pool_high": 2_242_293,
        "charged_high": 0,
        "rule": "model-pool-low",
        "reason": "80% of the free pool of deepseek-v4-flash is used",
        "details": {"wall": "pool"},
    } | fields
    known.setdefault("id", alert_id(known["scope"], known["window"], f"{known['threshold']}", known.get("grant", 0)))
    return Alert(**known)


@pytest.fixture
def make_alert() -> Callable[..., Alert]:
    """An alert at 80 % of a model's pool; keyword arguments replace fields."""
    return _alert


@pytest.fixture
def make_note() -> Callable[..., Note]:
    """A note in Chinese about such an alert."""

    def make(language: str = "zh", **fields: Any) -> Note:
        alert = _alert(**fields)
        return Note(alert, message(alert, language, ZONE))

    return make


class ManualTime:
    """Time that stands still until it is told to move on."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.chance = 1.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def timing(self) -> Timing:
        """This time as the argument that code takes."""
        return Timing(lambda: AT + round(self.seconds * 1000), lambda: self.seconds, self._sleep, lambda: self.chance)

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass; whoever wakes on the way runs as far as it can."""
        await self._settle()
        end = self.seconds + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            self.seconds, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)
            await self._settle()
        self.seconds = end

    async def _sleep(self, seconds: float) -> None:
        self._count += 1
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.seconds + seconds, self._count, waiter))
        await waiter

    async def _settle(self) -> None:
        for _ in range(12):
            await asyncio.sleep(0)


@pytest.fixture
def manual() -> ManualTime:
    """Time under the test's control."""
    return ManualTime()


SPEED = 400.0  # backoffs and pauses of minutes pass in fractions of a second


@pytest.fixture
def quick() -> Timing:
    """Real time for the network, hurried for every wait of ours."""

    def sleep(seconds: float) -> Awaitable[None]:
        return asyncio.sleep(seconds / SPEED)

    return Timing(monotonic=lambda: time.monotonic() * SPEED, sleep=sleep, random=Random(7).random)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A local receiver with nothing planned."""
    async with Receiver() as running:
        yield running


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """HTTP with a short patience."""
    async with Wire(timeout=0.5) as opened:
        yield opened
