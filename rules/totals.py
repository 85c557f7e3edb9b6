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
from rules.moment import HOUR, MINUTE, Millis
from rules.pool_state import Metered

COMPARED_EVERY: Millis = MINUTE
BELIEVED_AFTER: Millis = HOUR  # lines of one file or host may be under way for long
UNDER_WAY: Millis = 2 * MINUTE  # tokens as recent as that may be counted there and not here
# A gateway may count a call on the other side of midnight than its line says.
AROUND_MIDNIGHT: Millis = 5 * MINUTE
TOLERANCE = 1_000
TOLERANCE_SHARE = 1_000  # one in so many


class Shortfall(Struct, frozen=True):
    """What was missing when it was last looked at, and since when that has been so. `since` 0: nothing is."""

    day: Day = ""
    seen: Millis = 0
    since: Millis = 0
    gateways: int = 0  # what they say they counted today
    metered: int = 0  # what we did, with what they had counted before

    @property
    def missing(self) -> int:
        return self.gateways - self.metered


def shortfall(before: Shortfall, counter: Counter, metered: Metered, calendar: Calendar, now: Millis) -> Shortfall:
    """The same now. Looked at once a minute. Totals told near midnight say nothing."""
    if metered.since is None or (before.day == metered.day and 0 <= now - before.seen < COMPARED_EVERY):
        return before
    if before.day != metered.day:
        before = Shortfall(metered.day)
    begin, end = metered.day_start + AROUND_MIDNIGHT, calendar.end(metered.day) - AROUND_MIDNIGHT
    seeded = metered.since >= metered.day_start
    starts = counter.starts(metered.day)
    gateways = ours = 0
    for key_hash, told in counter.told(metered.day).items():
        counted = told.counted + (starts.get(key_hash, 0) if seeded else 0)
        if begin <= told.at < end and told.today > counted:
            gateways, ours = gateways + told.today, ours + counted
    if gateways - ours <= _explained(gateways, metered, now, seeded=seeded):
        return Shortfall(metered.day, now)
    return Shortfall(metered.day, now, before.since or now, gateways, ours)


def missing(found: Shortfall, now: Millis) -> Iterator[Condition]:
    """The condition, once no lateness explains it."""
    if not found.since or now - found.since < BELIEVED_AFTER:
        return
    yield Condition(
        what=Kind.USAGE_MISSING.value,
        kind=Kind.USAGE_MISSING,
        severity=Severity.WARNING,
        reason=f"gateways counted {found.gateways:,} tokens today, {found.metered:,} of them reached us:"
        f" {found.missing:,} are missing",
        details={"gateways": str(found.gateways), "metered": str(found.metered), "missing": str(found.missing)},
        daily=True,
    )


def _explained(gateways: int, metered: Metered, now: Millis, *, seeded: bool) -> int:
    """Tokens that may be missing and mean nothing: under way, or of a call that ended at midnight."""
    curve = metered.curve
    recent = metered.total - curve.ended_by(min(now, metered.complete_until or 0) - UNDER_WAY)
    begin = metered.day_start
    midnight = 0 if seeded else curve.begun_by(begin) - curve.ended_by(begin - AROUND_MIDNIGHT)
    return max(TOLERANCE, gateways // TOLERANCE_SHARE) + recent + midnight
