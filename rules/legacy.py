"""The two numbers that a v6 gate reads, made so that the unchanged gate obeys our limit.

Such a gate admits a call while `usage + reserve < balance_at_sync + usage_at_sync − gate_buffer`, `usage` being the
sum of its own `daily_usage` keys of the Beijing day; a missing key counts as 0, so it refuses then. Inside this file:

Rule 1: what no gate counts (another client, a second spelling of the model) comes off what gates may still use.
Rule 2: both numbers together never exceed `pool_low`, whatever buffer a gate really has.
Rule 3: what is unknown closes. Zero and zero is a refusal, too.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from rules.calendar import Calendar, Day
from rules.moment import MINUTE, SECOND, Millis
from rules.policy import Mode

GATE_DAYS = Calendar("Asia/Shanghai")
"""The days of `daily_usage` keys. A v6 gate knows no other zone."""

CLOSED_BEFORE: Millis = 2 * SECOND
"""The numbers end this long before the day does: a gate whose clock runs ahead already counts from zero."""

_OPEN = frozenset({"allow", "warn"})


class LegacyInput(Struct, frozen=True, kw_only=True):
    """What the judge knows of a model when it decides. Tokens count from the start of `day`; None is unknown."""

    models: tuple[str, ...]  # every spelling that gates use in their keys
    action: str
    limit: int | None  # the effective limit
    pool_low: int | None
    used: int | None
    balance: int | None  # the newest reading, as the provider told it
    day: Day
    at: Millis  # when it was decided; in recordings the only clock
    apart: int = 0  # the part of `used` known to stand in no `daily_usage` key
    gate_buffer: int = 50_000  # the gate's own SMALL_BUFFER; must not be set above it
    lease: Millis = 30 * MINUTE  # how long the numbers hold without an engine; at most the lag bound D, see `expiry`
    mode: Mode = Mode.ENFORCE


class Pair(NamedTuple):
    """The values of the two keys. They are only ever written together."""

    balance_at_sync: int
    usage_at_sync: int


def ceiling(given: LegacyInput) -> int:
    """What the two numbers add up to if gates count everything; 0 where the gate must refuse."""
    if given.action not in _OPEN or given.limit is None or given.pool_low is None or given.used is None:
        return 0
    return max(0, min(given.pool_low, given.limit + given.gate_buffer))


def pair(given: LegacyInput, gate_counted: int) -> Pair:
    """The two numbers when the gate's `daily_usage` keys of its day add up to `gate_counted`.

    A sum that is too low only makes them smaller, so keys that have not been found yet do no harm.
    """
    uncounted = max(0, given.apart, (given.used or 0) - gate_counted)
    total = max(0, ceiling(given) - uncounted)
    balance = min(max(0, given.balance or 0), total)
    return Pair(balance, total - balance)


def day_change(at: Millis, ours: Calendar) -> Millis:
    """The next instant at which our day or the gate's ends: numbers made before must not be read after it."""
    return min(days.end(days.day(at)) for days in (ours, GATE_DAYS))


def expiry(at: Millis, ours: Calendar, lease: Millis) -> Millis:
    """When numbers written at `at` must be gone; not after `at` itself: they must not be written at all.

    `pool_low` leaves a package out from D before it expires, so with a lease of at most D no package can run out under
    numbers that nobody renews.
    """
    return min(day_change(at, ours) - CLOSED_BEFORE, at + lease)
