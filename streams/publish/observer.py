"""What publishing tells whoever counts: closed lists of outcomes, fit for the labels of a metric."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from rules.moment import Millis


class Outcome(StrEnum):
    """What became of a decision."""

    WRITTEN = "written"
    SAME = "same"  # this version stood there; written again
    REFUSED = "refused"  # Redis holds a newer one


class LegacyOutcome(StrEnum):
    """What became of a pair of legacy numbers."""

    WRITTEN = "written"
    CLOSED = "closed"  # too near to the end of the day, or too late: the keys were taken away
    REFUSED = "refused"


class Cause(StrEnum):
    """Why scopes are written though their decision has not changed."""

    CONNECTED = "connected"
    LOST = "lost"  # Redis had lost its data, or another server answers
    VANISHED = "vanished"  # single keys were gone
    RENEWAL = "renewal"


class Trouble(StrEnum):
    """Why Redis could not be used."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    REPLY = "reply"  # Redis answered with an error: out of memory, read only, loading

    @classmethod
    def of(cls, error: BaseException) -> Trouble:
        """The kind of an error of the Redis client."""
        if isinstance(error, (TimeoutError, RedisTimeoutError)):
            return cls.TIMEOUT
        return cls.REPLY if isinstance(error, ResponseError) else cls.CONNECTION


TROUBLES = (RedisError, OSError, TimeoutError)
"""Errors that say something about Redis and nothing about us. Any other one ends the process."""


class Observer(Protocol):
    """Told of everything that happens; must not raise and must not wait."""

    def decision(self, outcome: Outcome, waited: Millis | None) -> None:
        """`waited`: from the first offer not yet written to the answer; None where nothing had changed."""

    def arrived(self, taken: Millis) -> None:
        """A decision stands in Redis `taken` after the oldest usage record in it was sent."""

    def legacy(self, outcome: LegacyOutcome) -> None: ...

    def again(self, cause: Cause, scopes: int) -> None: ...

    def trouble(self, kind: Trouble) -> None: ...

    def reachable(self, up: bool) -> None: ...

    def waiting(self, scopes: int) -> None: ...


class Silent:
    """An observer that tells nobody."""

    def decision(self, outcome: Outcome, waited: Millis | None) -> None: ...

    def arrived(self, taken: Millis) -> None: ...

    def legacy(self, outcome: LegacyOutcome) -> None: ...

    def again(self, cause: Cause, scopes: int) -> None: ...

    def trouble(self, kind: Trouble) -> None: ...

    def reachable(self, up: bool) -> None: ...

    def waiting(self, scopes: int) -> None: ...
