"""Redis, asked with bounded patience. What goes wrong comes back as data."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from blastdoor_gateway.admission import Outage
from blastdoor_gateway.answers import Fields, fields_of
from blastdoor_gateway.patience import Patience
from blastdoor_gateway.scripts import Call
from blastdoor_gateway.wire import Wire

CONNECTIONS = 64
"""More calls at once wait for one of these; a pool that is used up is no outage. `Link` needs one at a time."""


def open_redis(url: str, wait: float) -> Redis:
    """A client that connects when first used, never repeats by itself and speaks text."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=wait,
        decode_responses=True,
        encoding_errors="replace",
        socket_connect_timeout=wait,
        socket_timeout=None,  # `Link` bounds the whole question; a second clock for each read costs a tenth of it
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


class Link:
    """Asks within `wait` seconds, connecting included. However many ask at once, they share one connection."""

    def __init__(self, redis: Redis, wait: float, patience: Patience) -> None:
        self._redis = redis
        self._wait = wait
        self._wire: Wire | None = None
        self._opening: asyncio.Task[Wire] | None = None
        self.patience = patience

    async def ask(self, call: Call) -> Fields | Outage:
        """The script's answer, or why there is none."""
        if not self.patience.lets(time.monotonic()):
            return Outage.PAUSED
        wire = self._wire
        try:
            async with asyncio.timeout(self._wait):
                if wire is None or not wire.is_open:
                    wire = await self._reopened()
                found = await _evaluate(wire, call)
        except (TimeoutError, RedisError, OSError) as error:
            if wire is not None and isinstance(error, TimeoutError):
                wire.retire()
            return self.patience.failed(call.script.name, error, time.monotonic())
        except BaseException:
            self.patience.abandoned()
            raise
        self.patience.heard()
        return fields_of(found)

    async def close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
        if self._wire is not None:
            await self._wire.close()
        await self._redis.aclose()

    async def _reopened(self) -> Wire:
        """Whoever comes first opens a wire, the others wait for the same; it goes on if one of them gives up."""
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Wire:
        async with asyncio.timeout(self._wait):
            self._wire = await Wire.open(self._redis)
        return self._wire


async def _evaluate(wire: Wire, call: Call) -> Any:
    try:
        return await wire.ask(call.to_wire())
    except NoScriptError:
        return await wire.ask(call.to_wire(whole=True))
