"""Back-pressure: how much may be under way between the door and Kafka's acknowledgement."""

from __future__ import annotations

import asyncio

MOST_BYTES = 32 * 1024 * 1024
WAIT_SECONDS = 2.0
"""Some senders never repeat what is refused, so a short wait comes first."""


class FullError(Exception):
    """No room within the time one waits for it."""


class Room:
    """Bytes of requests under way. A request counts with what it may bring, from before it is read."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._taken = 0
        self._freed = asyncio.Condition()
        self._waiting = 0

    @property
    def taken(self) -> int:
        return self._taken

    async def enter(self, size: int, patience: float = WAIT_SECONDS) -> None:
        """Take room, waiting a little for it. Raises FullError."""
        if self._waiting >= 100:  # a queue that long is not worked off in time
            raise FullError
        self._waiting += 1
        try:
            async with asyncio.timeout(patience), self._freed:
                await self._freed.wait_for(lambda: self._taken + size <= self._most)
                self._taken += size
        except TimeoutError:
            raise FullError from None
        finally:
            self._waiting -= 1

    async def leave(self, size: int) -> None:
        async with self._freed:
            self._taken -= size
            self._freed.notify_all()
