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

CONNECTIONS = 64
"""More calls at once wait for one of these; a pool that is used up is no outage."""


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
    """Asks within `wait` seconds, connecting included."""

    def __init__(self, redis: Redis, wait: float, patience: Patience) -> None:
        self._redis = redis
        self._wait = wait
        self.patience = patience

    async def ask(self, call: Call) -> Fields | Outage:
        """The script's answer, or why there is none."""
        if not self.patience.lets(time.monotonic()):
            return Outage.PAUSED
        try:
            async with asyncio.timeout(self._wait):
                found = await self._evaluate(call)
        except (TimeoutError, RedisError, OSError) as error:
            return self.patience.failed(call.script.name, error, time.monotonic())
        except BaseException:
            self.patience.abandoned()
            raise
        self.patience.heard()
        return fields_of(found)

    async def close(self) -> None:
        await self._redis.aclose()

    async def _evaluate(self, call: Call) -> Any:
        try:
            return await self._redis.evalsha(call.script.sha, len(call.keys), *call.keys, call.ask)
        except NoScriptError:
            return await self._redis.eval(call.script.text, len(call.keys), *call.keys, call.ask)
