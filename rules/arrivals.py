"""Which tokens came to the pool between the last readings and this one, as far as that is certain."""

from __future__ import annotations

from msgspec import Struct

from rules.curve import Curve
from rules.evidence import allowance, is_complete, listed, residual
from rules.moment import DAY, Millis
from rules.pool_state import Cause, Change, Evidence, PoolState
from rules.records import Package, Reading

PACKAGES_KNOWN = 1024
SOURCES_KNOWN = 32
AT_ONCE = 32
"""A provider returns a package or two a day. A list with more unknown ones than this is a list gone wrong: each of them
would be a change that all later readings are weighed against, so they raise nothing and the high end is open."""


class Arrivals(Struct, frozen=True):
    """New packages as changes; `opens`: the reading may hold more, so older readings no longer bound it from above."""

    changes: list[Change]
    opens: bool


def find_arrivals(state: PoolState, reading: Reading, evidence: Evidence, curve: Curve, lag: Millis) -> Arrivals:
    """Compare a reading with the ones before it."""
    if reading.packages is None:
        return _by_balance(state, evidence, curve, lag)
    last_list = state.lists.get(reading.source)
    unknown = [package for package in listed(reading) if package.id not in state.known and package.available > 0]
    if last_list is None or len(unknown) > AT_ONCE:
        return Arrivals([], opens=bool(unknown and state.evidence))
    new = [_arrival(package, reading.at) for package in unknown if package.effective > last_list - lag]
    found = [_found(package, reading.at) for package in unknown if package.effective <= last_list - lag]
    return Arrivals([*new, *found], opens=bool(found))


def remember_packages(state: PoolState, reading: Reading) -> None:
    """Record what a list showed; packages two days past their end are forgotten."""
    packages = listed(reading)
    if not packages:
        return
    state.known |= {package.id: package.expires for package in packages}
    if is_complete(reading):
        state.lists.pop(reading.source, None)
        state.lists[reading.source] = reading.asked_at or reading.at
        for forgotten in list(state.lists)[:-SOURCES_KNOWN]:
            del state.lists[forgotten]
        state.listed_at = reading.asked_at or reading.at
        state.packages = [p for p in packages if p.available > 0 and p.expires > reading.at]
    lasting = [(expires, name) for name, expires in state.known.items() if expires >= reading.at - 2 * DAY]
    state.known = {name: expires for expires, name in sorted(lasting)[-PACKAGES_KNOWN:]}


def _arrival(package: Package, at: Millis) -> Change:
    """What is left at first sight is certain for the low end; a package that soon ends adds nothing to it."""
    counts_from = max(at, package.effective)
    lasting = package.expires > counts_from + DAY
    left = package.total if package.available >= package.total else package.available - allowance(package.total)
    low = max(0, left) if lasting else 0
    return Change(
        cause=Cause.RETURN,
        at=counts_from,
        seen=at,
        came=package.effective,
        low=low,
        high=package.total,
        id=package.id,
    )


def _found(package: Package, at: Millis) -> Change:
    """Effective long before the last list: whether it was in earlier balances is not known, so it raises nothing."""
    return Change(cause=Cause.FOUND, at=at, seen=at, came=package.effective, low=0, high=package.total, id=package.id)


def _by_balance(state: PoolState, evidence: Evidence, curve: Curve, lag: Millis) -> Arrivals:
    """Without lists a rise of the balance is an arrival, less what a settlement running backwards could explain."""
    earlier = (known for known in reversed(state.evidence) if known.source == evidence.source)
    before = next((known for known in earlier if known.entered is None), None)
    if before is None:
        return Arrivals([], False)
    rise = evidence.balance - before.balance
    if rise <= residual(before.balance):
        return Arrivals([], False)
    certain = rise - max(0, curve.begun_by(before.at) - curve.ended_by(evidence.asked - lag))
    at_most = rise + curve.begun_by(evidence.at) - curve.ended_by(before.asked - lag)
    change = Change(
        cause=Cause.RISE,
        at=evidence.at,
        seen=evidence.at,
        came=before.asked,
        low=certain,
        high=at_most,
        id=evidence.id,
    )
    return Arrivals([change] if certain > 0 else [], opens=True)
