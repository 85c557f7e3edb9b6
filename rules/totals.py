"""A gateway's own total of the day beside ours: calls that it counted and that never reached us.

Only what is missing here is told. More here than there says nothing: a gateway's counter begins anew when it is lost,
and two gateways that share a key hash count each for itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rules.alerts import Kind, Severity
from rules.calendar import Calendar, Day
from rules.counter import Counter
from rules.episodes import Condition
from rules.facts import AROUND_MIDNIGHT
from rules.moment import HOUR, MINUTE, Millis
from rules.pool_state import Metered

LATE: Millis = HOUR  # lines of one host or file may be under way for so long
CLOCKS_DIFFER: Millis = 2 * MINUTE
TOLERANCE = 1_000
TOLERANCE_SHARE = 1_000  # one in so many


class Shortfall(Struct, frozen=True):
    """What gateways said at `seen` they had counted of `day` up to `until`, to be compared an hour later; and what was
    found an hour after the one before."""

    day: Day = ""
    seen: Millis = 0
    until: Millis = 0
    told: int = 0
    gateways: int = 0  # what they had counted, of which
    missing: int = 0  # never reached us


def shortfall(before: Shortfall, counter: Counter, metered: Metered, calendar: Calendar, now: Millis) -> Shortfall:
    """The same now; it changes once an hour."""
    same_day = before.day == metered.day
    if metered.since is None or (same_day and 0 <= now - before.seen < LATE):
        return before
    gateways, missing = (before.told, _missing(before, counter, metered)) if same_day and before.told else (0, 0)
    begin, end = metered.day_start + AROUND_MIDNIGHT, calendar.end(metered.day) - AROUND_MIDNIGHT
    told = [each for each in counter.told(metered.day).values() if begin <= each.at < end]
    until = max((each.at for each in told), default=0)
    return Shortfall(metered.day, now, until, sum(each.today for each in told), gateways, missing)


def _missing(before: Shortfall, counter: Counter, metered: Metered) -> int:
    """What of it we have not counted by now, beyond what may mean nothing. Calls after `until` do not make up for it,
    as far as they can be told from calls of which no gateway tells a total."""
    curve, begin = metered.curve, metered.day_start
    told = counter.told(metered.day)
    if not told:
        return 0
    counted = sum(each.counted for each in told.values())
    untold = max(0, counter.tokens(metered.day) - counted)
    later = max(0, metered.total - curve.begun_by(before.until + CLOCKS_DIFFER) - untold)
    if (metered.since or 0) >= begin:
        midnight = counter.seed(metered.day)  # counted there before metering began
    else:
        midnight = curve.begun_by(begin) - curve.ended_by(begin - AROUND_MIDNIGHT)
    missing = before.told - midnight - (counted - later)
    return missing if missing > max(TOLERANCE, before.told // TOLERANCE_SHARE) else 0


def missing(found: Shortfall) -> Iterator[Condition]:
    """The condition, as long as it is so."""
    if not found.missing:
        return
    yield Condition(
        what=Kind.USAGE_MISSING.value,
        kind=Kind.USAGE_MISSING,
        severity=Severity.WARNING,
        reason=f"{found.missing:,} of {found.gateways:,} tokens that gateways counted today never reached us",
        details={"gateways": str(found.gateways), "missing": str(found.missing)},
        daily=True,
    )
