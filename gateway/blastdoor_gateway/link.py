"""Redis, asked with bounded patience. What goes wrong comes back as data."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError

from blastdoor_gateway.admission import Outage
from blastdoor_gateway.answers import Fields, fields_of
from blastdoor_gateway.breaker import Breaker
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.scripts import Call

log = logging.getLogger("blastdoor.gate")


def open_redis(url: str, wait: float) -> Redis:
    """A client that connects when first used, never repeats by itself and speaks text."""
    return Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",
        socket_connect_timeout=wait,
        retry=Retry(NoBackoff(), 0),
    )


class Link:
    """Asks within `wait` seconds, connecting included. After several failures nobody waits any more for a while."""

    def __init__(self, redis: Redis, wait: float, observer: Observer, breaker: Breaker | None = None) -> None:
        self._redis = redis
        self._wait = wait
        self._observer = observer
        self.breaker = breaker or Breaker()

    async def ask(self, call: Call) -> Fields | Outage:
        """The script's answer, or why there is none."""
        if not self.breaker.lets(time.monotonic()):
            self._observer.outage(Outage.PAUSED)
            return Outage.PAUSED
        try:
            async with asyncio.timeout(self._wait):
                found = await self._evaluate(call)
        except (TimeoutError, RedisError, OSError) as error:
            return self._failed(call, error)
        except BaseException:
            self.breaker.abandoned()
            raise
        self._heard()
        return fields_of(found)

    async def close(self) -> None:
        await self._redis.aclose()

    async def _evaluate(self, call: Call) -> Any:
        try:
            return await self._redis.evalsha(call.script.sha, len(call.keys), *call.keys, call.ask)
        except NoScriptError:
            return await self._redis.eval(call.script.text, len(call.keys), *call.keys, call.ask)

    def _heard(self) -> None:
        if self.breaker.is_open:
            log.warning("Redis answers again")
            self._observer.breaker(is_open=False)
        self.breaker.heard()

    def _failed(self, call: Call, error: Exception) -> Outage:
        was_open = self.breaker.is_open
        self.breaker.failed(time.monotonic())
        cause = outage_of(error)
        self._observer.outage(cause)
        if self.breaker.is_open and not was_open:
            self._observer.breaker(is_open=True)
        if cause is Outage.ERROR or (self.breaker.is_open and not was_open):
            log.warning("Redis cannot be asked (%s): %s: %s", cause.value, call.script.name, error)
        return cause


def outage_of(error: Exception) -> Outage:
    """What kind of failure it is."""
    if isinstance(error, TimeoutError) or "imeout" in type(error).__name__:
        return Outage.SLOW
    if isinstance(error, ResponseError):
        return Outage.ERROR
    return Outage.DOWN if isinstance(error, RedisConnectionError | OSError) else Outage.ERROR
