"""What one reading says about the pool: at least balance + C(asked − D), at most balance + C(at)."""

from __future__ import annotations

from itertools import pairwise

from rules.curve import Curve
from rules.moment import DAY, MINUTE, Millis
from rules.pool_state import Cause, Change, Evidence, Fold
from rules.records import Package, Reading

# A list that misses at most this much of the balance is complete: provider totals are off by a hundred tokens or so.
LIST_TOLERANCE = 500
RESIDUAL = 500
CLOCKS_DIFFER: Millis = 2 * MINUTE  # a call may be stamped so much before or after a package that covered it
NOISE = 150  # 115 and 135 tokens were seen
GAP_CEILING: Millis = 30 * MINUTE


def residual(pool: int) -> int:
    """How far readings may be off without meaning anything (135 tokens were seen)."""
    return max(RESIDUAL, pool // 2000)


def allowance(pool: int) -> int:
    """By how much both ends give way, so that the residuals seen so far leave the pool between them."""
    return min(NOISE, pool // 2000)


def listed(reading: Reading) -> list[Package]:
    """The packages of all pages, each once; of two versions the one with less left."""
    unique: dict[str, Package] = {}
    for package in reading.packages or ():
        known = unique.get(package.id)
        if known is None or package.available < known.available:
            unique[package.id] = package
    return list(unique.values())


def is_complete(reading: Reading) -> bool:
    """Whether the list explains the whole balance (no page is missing)."""
    if reading.packages is None:
        return False
    return reading.available - sum(
        package.available for package in listed(reading)
    ) <= LIST_TOLERANCE or _pages_overlap(reading)


def balance(reading: Reading) -> int:
    """What is left in packages valid at the reading's time: expired and future ones are not tokens one can use."""
    packages = listed(reading)
    if not packages:
        return reading.available
    valid = sum(package.available for package in packages if package.effective <= reading.at < package.expires)
    if is_complete(reading):
        return min(reading.available, valid)
    return max(0, reading.available - (sum(package.available for package in packages) - valid))


def witness(reading: Reading) -> Evidence:
    """The reading as evidence."""
    return Evidence(
        id=reading.id,
        at=reading.at,
        asked=min(reading.at, reading.asked_at or reading.at),
        balance=balance(reading),
        source=reading.source,
        settled=None if reading.settled_until is None else min(reading.settled_until, reading.at),
        expiring=ending(listed(reading), reading.at),
    )


def ending(packages: list[Package], at: Millis) -> list[tuple[Millis, int]]:
    """(expires, available) of packages valid at `at` that end within a day: later ends do not matter to a reading."""
    return [(p.expires, p.available) for p in packages if p.effective <= at < p.expires <= at + DAY and p.available > 0]


def is_empty(evidence: Evidence) -> bool:
    """Whether nothing may be left: some of the usage that its balance shows may have been charged."""
    return evidence.balance <= NOISE and not evidence.exact


def low_of(evidence: Evidence, curve: Curve, lag: Millis, now: Millis) -> int:
    """Its low end: usage surely settled, and nothing of packages that end within the lag bound from now."""
    value = evidence.balance + surely_settled(evidence, curve, lag)
    if evidence.most is not None:
        value = min(value, evidence.most + curve.seed)
    return value - ending_soon(evidence, lag, now)


def high_of(evidence: Evidence, curve: Curve, lag: Millis, now: Millis) -> int:
    """Its high end: usage perhaps settled, less what packages must have lost at their end."""
    return evidence.balance + perhaps_settled(evidence, curve) - surely_lost(evidence, curve, lag, now)


def surely_settled(evidence: Evidence, curve: Curve, lag: Millis) -> int:
    """C of the usage that its balance shows at least."""
    if evidence.settled is not None:
        return curve.ended_by(evidence.settled)
    if evidence.count is not None:
        return evidence.count - (curve.begun_by(evidence.at - 1) - curve.ended_by(evidence.asked - lag))
    return curve.ended_by(evidence.asked - lag)


def perhaps_settled(evidence: Evidence, curve: Curve) -> int:
    """C of the usage that its balance shows at most."""
    if evidence.settled is not None:
        return curve.begun_by(evidence.settled - 1)
    return curve.begun_by(evidence.at) if evidence.count is None else evidence.count


def ending_soon(evidence: Evidence, lag: Millis, now: Millis) -> int:
    """What of its balance is in packages that have ended, or end within the lag bound from now."""
    return sum(available for expires, available in evidence.expiring if expires - lag <= now)


def surely_lost(evidence: Evidence, curve: Curve, lag: Millis, now: Millis) -> int:
    """What of its balance cannot have been used before its package ended. Usage of before metering began may be."""
    if evidence.since is None or evidence.asked - lag < evidence.since:
        return 0
    lost = 0
    for expires, available in evidence.expiring:
        if expires <= now:
            used_at_most = curve.begun_by(expires) - curve.ended_by(evidence.asked - lag)
            lost += max(0, available - used_at_most)
    return lost


def low_counts(evidence: Evidence, since: Millis | None, lag: Millis) -> bool:
    """Whether it is evidence for the low end."""
    return is_covered(evidence, since, lag) and not (is_empty(evidence) and evidence.most is None)


def is_covered(evidence: Evidence, since: Millis | None, lag: Millis) -> bool:
    """Whether all usage that was unsettled at the reading was metered."""
    if evidence.trusted:
        return True
    settled = evidence.asked - lag if evidence.settled is None else evidence.settled
    return since is not None and settled >= since


def raised_low(value: int, at: Millis, changes: list[Change], now: Millis) -> int:
    """A low end of time `at` after the changes it does not show yet."""
    return value + sum(change.low for change in changes if at < change.at <= now)


def raised_high(value: int, at: Millis, changes: list[Change], curve: Curve, now: Millis) -> int:
    """A high end of time `at` after the changes it does not show. Tokens charged before an arrival stay charged."""
    for change in changes:
        if at < change.at <= now:
            value = change.high + (value if change.cause is Cause.LOSS else max(value, _used_by(change, curve)))
    return value


def raised_fold(fold: Fold, changes: list[Change], curve: Curve, now: Millis) -> int:
    """The folded high end now. It is kept without the tokens the curve could not place, as those came later."""
    return raised_high(fold.value + curve.seed + curve.late, fold.at, changes, curve, now)


def window(evidence: list[Evidence], lag: Millis) -> Millis:
    """How long low evidence lasts: D + the longest gap between the last four readings, of which half an hour counts."""
    times = [known.seen for known in evidence[-4:]]
    gaps = (later - earlier for earlier, later in pairwise(times))
    return lag + min(GAP_CEILING, max(gaps, default=0))


def _pages_overlap(reading: Reading) -> bool:
    """Whether the balance was summed over pages that repeat packages."""
    return reading.available == sum(package.available for package in reading.packages or ())


def _used_by(change: Change, curve: Curve) -> int:
    """C when it came, of calls stamped too late as well. The curve itself knows old hours only as a whole."""
    return curve.begun_by(change.at + CLOCKS_DIFFER) if change.used is None else change.used + curve.seed + curve.late
