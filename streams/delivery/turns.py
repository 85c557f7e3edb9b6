"""Fair shares of the event loop: whoever computes for long lets all others come in between.

What an event has to go through takes some twenty turns of the loop, most of them idle ones of clients. Each waits for
whatever else is computed in the same turn, so it is not the sum of the work that makes an event late, but how much of
it is done at a stretch.
"""

from __future__ import annotations

import asyncio
import time

STRETCH = 0.002  # seconds: shorter ones cost more turns than they spare waiting


class Breath:
    """Called between two pieces of work, it lets the loop turn if they have taken long."""

    def __init__(self) -> None:
        self._since = 0.0

    async def __call__(self) -> None:
        if time.monotonic() - self._since > STRETCH:
            await asyncio.sleep(0)
            self._since = time.monotonic()


class Turns:
    """A lock around pieces of work: those that take long have a turn of the loop each, short ones share it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._began = 0.0

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._began = time.monotonic()

    async def __aexit__(self, *_: object) -> None:
        try:
            if time.monotonic() - self._began > STRETCH:
                await asyncio.sleep(0)
        finally:
            self._lock.release()
