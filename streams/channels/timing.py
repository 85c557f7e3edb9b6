"""Time and chance as arguments, so that tests decide what they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from secrets import SystemRandom

from rules.moment import Millis

RETRY_BASE = 1.0
RETRY_CAP = 300.0  # after a long outage of the receiver, alerts arrive within five minutes of its return


def _now() -> Millis:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall clock (ms), a clock for lengths of time (s), sleeping (s) and chance in [0, 1)."""

    now: Callable[[], Millis] = _now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = SystemRandom().random


def backoff(attempts: int, random: Callable[[], float]) -> float:
    """Seconds to wait after `attempts` failures: exponential with full jitter, at most RETRY_CAP."""
    return random() * min(RETRY_CAP, RETRY_BASE * 2.0 ** min(attempts - 1, 30))


class Pace:
    """Even spacing: a rate that is kept in every window, with no bursts even after a pause."""

    def __init__(self, gap: float, timing: Timing) -> None:
        """`gap`: seconds between two turns."""
        self._gap = gap
        self._timing = timing
        self._next = timing.monotonic()

    async def turn(self) -> None:
        """Returns when the caller may go on; callers go in the order in which they asked."""
        now = self._timing.monotonic()
        mine = max(now, self._next)
        self._next = mine + self._gap
        if mine > now:
            await self._timing.sleep(mine - now)
