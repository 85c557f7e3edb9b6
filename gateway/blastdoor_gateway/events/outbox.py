"""Events wait here until they are delivered. A request never waits for that.

Which way it falls: what cannot be delivered is kept and tried again; when too many wait, new ones are dropped and
counted (`blastdoor_gate_events_total{outcome="dropped"}`), for memory must not fill up. The gate's own limits in Redis
have these calls; the engine does not know of them then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import Protocol

from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.observer import Observer

log = logging.getLogger("blastdoor.gate")

Batch = list[tuple[bytes, bytes]]
"""(key, value) of each event; the key is its id, so that a twin meets its twin."""


class UnusableError(Exception):
    """The other side will never take this batch."""


class Carrier(Protocol):
    """Brings events to the engine."""

    async def deliver(self, batch: Batch) -> None:
        """Returns when all have been taken. Raises UnusableError for a batch that nobody will ever take; whatever else
        it raises, the batch comes again, and the engine knows repeats."""

    async def close(self) -> None:
        """Let go of connections."""


class Outbox:
    """At most `most` events wait. One task delivers them in order; it lives while there is something to deliver."""

    def __init__(self, carrier: Carrier, observer: Observer | None = None, most: int = 10_000) -> None:
        self._carrier = carrier
        self._observer = observer or Observer()
        self._most = most
        self._waiting: deque[tuple[bytes, bytes]] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, event: UsageEvent) -> bool:
        """Whether there was room."""
        if len(self._waiting) >= self._most:
            self._observer.event("dropped")
            return False
        self._waiting.append((event.id.encode(), event.encode()))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._deliver())
        return True

    def __len__(self) -> int:
        return len(self._waiting)

    async def close(self, within: float = 5.0) -> None:
        """Deliver what waits, as far as it goes within some seconds."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within)
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._carrier.close()

    async def _deliver(self) -> None:
        pause = 0.1
        while self._waiting:
            batch = [self._waiting[place] for place in range(min(500, len(self._waiting)))]
            outcome = "sent"
            try:
                await self._carrier.deliver(batch)
            except UnusableError as error:
                log.error("%d usage events are lost, they cannot be used: %s", len(batch), error)
                outcome = "dropped"
            except Exception as error:  # noqa: BLE001  (a carrier's library may raise anything; nothing is lost by it)
                log.warning("usage events cannot be delivered, %d wait: %s", len(self._waiting), error)
                self._observer.event("failed")
                await asyncio.sleep(pause)
                pause = min(5.0, 2 * pause)
                continue
            pause = 0.1
            for _ in batch:
                self._waiting.popleft()
                self._observer.event(outcome)
