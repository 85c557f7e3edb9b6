"""Fair shares of the event loop: whoever computes for long lets all others come in between.

What an event goes through takes some twenty turns of the loop, most of them idle ones of clients. Each lasts as long as
all that is computed in it, so it is not the sum of the work that makes an event late, but how much of it is done at a
stretch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Self

STRETCH = 0.004  # seconds: shorter ones cost more turns than they spare waiting

Clock = Callable[[], float]


class Breath:
    """Called between two pieces of work, it lets the loop turn if it has not for a stretch."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()

    async def __call__(self) -> None:
        if self._clock() - self._since > STRETCH:
            await asyncio.sleep(0)
            self._since = self._clock()


class Turns:
    """A lock around pieces of work: those longer than a stretch have a turn of the loop each, short ones share it."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = asyncio.Lock()
        self._began = 0.0

    async def __aenter__(self) -> Self:
        await self._lock.acquire()
        self._began = self._clock()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._clock() - self._began > STRETCH:
                await asyncio.sleep(0)
        finally:
            self._lock.release()
