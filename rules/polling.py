"""When a provider is asked again: rarely while there is plenty, often when the pool runs low, at once when it matters.

The provider's books move by themselves only every few minutes, so asking more often than `least` brings nothing; the
exceptions are a burst, which uses up what the last reading promised, and a model that is closed only because the
interval is wide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from rules.moment import MINUTE, SECOND, Millis

LOW, VERY_LOW = 0.3, 0.1  # of the pool is left
BURST = 0.1  # of the pool used since the last poll
PARTS = 4  # polls until the pool would be empty at the present rate
FIRST_RETRY = 15 * SECOND


class Why(StrEnum):
    """What made a poll due. Label values of a metric: the list is closed."""

    FIRST = "first"
    REGULAR = "regular"
    EMPTYING = "emptying"
    LOW = "low"
    VERY_LOW = "very_low"
    BURST = "burst"
    UNDECIDED = "undecided"
    RETRY = "retry"


class Pace(Struct, frozen=True, kw_only=True):
    """Between which bounds the rhythm moves, and the least distance of two polls whatever happens."""

    every: Millis = 30 * MINUTE
    low: Millis = 10 * MINUTE
    least: Millis = 5 * MINUTE
    gap: Millis = MINUTE


class Sight(Struct, frozen=True, kw_only=True):
    """What is decided about a model now. None: unknown. `counted` never resets, unlike `used`."""

    model: str
    used: int
    counted: int
    wall: str = ""  # what bounds the limit: pool, cap
    limit: int | None = None
    pool_low: int | None = None
    pool_high: int | None = None


class Polled(Struct, frozen=True, kw_only=True):
    """The last poll: when it was asked, what had been counted then, and how many have failed since one succeeded."""

    at: Millis
    counted: Mapping[str, int] = {}
    failures: int = 0
    retry_after: Millis = 0


class Due(Struct, frozen=True, order=True):
    """The next poll."""

    at: Millis
    why: Why


def due(polled: Polled | None, sights: Iterable[Sight], now: Millis, pace: Pace) -> Due:
    """When to ask next; in the past: at once. What the models want is asked of each, the earliest wins."""
    if polled is None:
        return Due(now, Why.FIRST)
    if polled.failures:
        wait = min(pace.every, max(polled.retry_after, FIRST_RETRY * 2 ** min(polled.failures - 1, 10)))
        return Due(polled.at + wait, Why.RETRY)
    wishes = [_wish(polled, sight, now, pace) for sight in sights]
    return min([*wishes, Due(polled.at + pace.every, Why.REGULAR)])


def _wish(polled: Polled, sight: Sight, now: Millis, pace: Pace) -> Due:
    """When this model's balance should be asked for."""
    if sight.pool_low is None or sight.limit is None:
        return Due(polled.at + pace.least, Why.UNDECIDED)
    since = max(0, sight.counted - polled.counted.get(sight.model, sight.counted))
    if _is_undecided(sight):
        return Due(polled.at + pace.gap, Why.UNDECIDED)
    if since >= BURST * max(1, sight.pool_low):
        return Due(polled.at + pace.gap, Why.BURST)
    left = max(0, sight.pool_low - sight.used)
    if left <= VERY_LOW * sight.pool_low:
        return Due(polled.at + pace.least, Why.VERY_LOW)
    if left <= LOW * sight.pool_low:
        return Due(polled.at + pace.low, Why.LOW)
    return _by_rate(polled, left, since, now, pace)


def _is_undecided(sight: Sight) -> bool:
    """Closed by the low end, while by the high end there would be tokens left: a reading may open it."""
    if sight.limit is None or sight.pool_low is None or sight.pool_high is None:
        return False
    return sight.wall != "cap" and sight.limit <= sight.used < sight.limit + (sight.pool_high - sight.pool_low)


def _by_rate(polled: Polled, left: int, since: int, now: Millis, pace: Pace) -> Due:
    """A few polls before the pool would be empty, were calls to go on as since the last one."""
    elapsed = max(1, now - polled.at)
    if since == 0:
        return Due(polled.at + pace.every, Why.REGULAR)
    wait = max(pace.least, left * elapsed // since // PARTS)
    return Due(polled.at + min(pace.every, wait), Why.EMPTYING if wait < pace.every else Why.REGULAR)
