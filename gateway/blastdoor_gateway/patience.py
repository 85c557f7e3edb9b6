"""The breaker with what is said about it: whoever talks to Redis asks here first and tells what happened."""

from __future__ import annotations

import logging

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from blastdoor_gateway.admission import Outage
from blastdoor_gateway.breaker import Breaker
from blastdoor_gateway.observer import Observer

log = logging.getLogger("blastdoor.gate")


class Patience:
    """Times are seconds of a steady clock."""

    def __init__(self, observer: Observer, breaker: Breaker | None = None) -> None:
        self._observer = observer
        self._breaker = breaker or Breaker()

    @property
    def is_open(self) -> bool:
        return self._breaker.is_open

    def lets(self, now: float) -> bool:
        """Whether Redis may be asked now."""
        if self._breaker.lets(now):
            return True
        self._observer.outage(Outage.PAUSED)
        return False

    def wait(self, now: float) -> float:
        """Seconds until Redis is asked again."""
        return self._breaker.wait(now)

    def heard(self) -> None:
        """Redis answered."""
        if self._breaker.is_open:
            log.warning("Redis answers again")
            self._observer.breaker(is_open=False)
        self._breaker.heard()

    def failed(self, script: str, error: Exception, now: float) -> Outage:
        """Redis did not; says what kind of failure it is."""
        was_open = self._breaker.is_open
        self._breaker.failed(now)
        opened = self._breaker.is_open and not was_open
        cause = _cause(error)
        self._observer.outage(cause)
        if opened:
            self._observer.breaker(is_open=True)
        if opened or cause is Outage.ERROR:
            log.warning("Redis cannot be asked (%s): %s: %s", cause.value, script, error)
        return cause

    def abandoned(self) -> None:
        """The caller went away before there was an answer."""
        self._breaker.abandoned()


def _cause(error: Exception) -> Outage:
    if isinstance(error, TimeoutError | RedisTimeoutError):
        return Outage.SLOW
    if isinstance(error, OSError):
        return Outage.DOWN
    if isinstance(error, RedisConnectionError) and not isinstance(error, ResponseError):
        return Outage.DOWN
    return Outage.ERROR
