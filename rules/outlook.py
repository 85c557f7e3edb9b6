"""What is to come: the return of yesterday's usage, when the pool runs out, and what will expire unused."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from rules.curve import Curve
from rules.evidence import residual
from rules.moment import DAY, HOUR, Millis
from rules.policy import ModelTerms
from rules.pool_state import Bounds, Cause, Metered, PoolState
from rules.records import Package

OVERDUE_AFTER: Millis = 12 * HOUR  # returns come at any time from the start of the day until late in the morning
HORIZON_HOURS = 7 * 24


class Unused(Struct, frozen=True):
    """A package that ends with tokens left if usage goes on as it does."""

    id: str
    expires: Millis
    tokens: int


class Outlook(Struct, frozen=True, kw_only=True):
    """Expectations. None of them enters a limit."""

    expected_return: int | None  # yesterday's usage up to the cap; None: it was not metered in full
    returned: int  # of the day so far, at most
    overdue: bool
    runs_out_at: Millis | None  # None: not within a week, or not known
    will_expire: tuple[Unused, ...]
    needed_per_day: int  # daily usage with which no package ends with tokens left


def outlook(state: PoolState, terms: ModelTerms, metered: Metered, bounds: Bounds, now: Millis) -> Outlook:
    """Look ahead from what is known at `now`."""
    expected = expected_return(terms, metered)
    returned = returned_today(state, metered, now)
    return Outlook(
        expected_return=expected,
        returned=returned,
        overdue=is_overdue(expected, returned, metered, now),
        runs_out_at=None if bounds.pool_low is None else runs_out(metered, bounds.pool_low, now),
        will_expire=tuple(will_expire(state.packages, daily_usage(metered, now), now)),
        needed_per_day=needed_per_day(state.packages, now),
    )


def expected_return(terms: ModelTerms, metered: Metered) -> int | None:
    """What was used comes back the next day, up to the daily cap."""
    return None if metered.yesterday is None else min(metered.yesterday, terms.daily_cap)


def returned_today(state: PoolState, metered: Metered, now: Millis) -> int:
    """Tokens that came to the pool since the day began, at most."""
    day = (change for change in state.changes if metered.day_start <= change.at <= now)
    return sum(change.high for change in day if change.cause is not Cause.LOSS)


def is_overdue(expected: int | None, returned: int, metered: Metered, now: Millis) -> bool:
    """Whether the forenoon has passed without the return."""
    if expected is None or now - metered.day_start < OVERDUE_AFTER:
        return False
    return expected - returned > residual(expected)


def daily_usage(metered: Metered, now: Millis) -> int:
    """Tokens of the last 24 hours, or as many as the time metered so far would make of 24 hours."""
    since = max(now - DAY, metered.since or now)
    used = metered.total - metered.curve.ended_by(since)
    return used * DAY // max(HOUR, now - since)


def runs_out(metered: Metered, pool: int, now: Millis) -> Millis | None:
    """When the pool is used up if each hour to come is like the same hour of the last day."""
    curve, left = metered.curve, pool - metered.total
    if left <= 0:
        return now
    if metered.since is None or metered.since > now - DAY:
        hours = [daily_usage(metered, now) // 24] * 24
    else:
        hours = _last_hours(curve, now)
    for ahead in range(HORIZON_HOURS):
        used = hours[ahead % 24]
        if used >= left:
            return now + ahead * HOUR + HOUR * left // used
        left -= used
    return None


def will_expire(packages: list[Package], per_day: int, now: Millis) -> list[Unused]:
    """Packages are burned in the order in which they end; what usage does not reach in time is lost."""
    unused, burned = [], 0
    for package in _by_end(packages, now):
        reach = per_day * (package.expires - now) // DAY - burned
        used = min(package.available, max(0, reach))
        burned += used
        if package.available > used:
            unused.append(Unused(package.id, package.expires, package.available - used))
    return unused


def needed_per_day(packages: list[Package], now: Millis) -> int:
    """The least daily usage that leaves nothing to expire: 66,667 for a fresh package of 2,000,000 and 30 days."""
    need, held = 0, 0
    for package in _by_end(packages, now):
        held += package.available
        need = max(need, -(-held * DAY // (package.expires - now)))
    return need


def _by_end(packages: list[Package], now: Millis) -> list[Package]:
    return sorted((p for p in packages if p.effective <= now < p.expires), key=lambda p: (p.expires, p.id))


def _last_hours(curve: Curve, now: Millis) -> list[int]:
    """Usage of the last 24 hours, hour by hour, oldest first."""
    marks = [curve.ended_by(now - hours * HOUR) for hours in range(24, -1, -1)]
    return [later - earlier for earlier, later in pairwise(marks)]
