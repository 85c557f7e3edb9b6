"""Conditions that last, each told once until it ends: usage without readings, a return that does not come, clocks that
are apart."""

from __future__ import annotations

from rules.alerts import Kind
from rules.clocks import says
from rules.moment import HOUR, Millis
from rules.outlook import expected_return, is_overdue, returned_today
from rules.policy import ModelTerms
from rules.pool_state import Metered, Notice, PoolState


def standing(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> list[Notice]:
    """The conditions that begin to hold at `now`."""
    found = [_unread(state, terms, metered, now), _overdue(state, terms, metered, now), _apart(state, metered, now)]
    holding = {str(notice.kind) for notice in found if notice is not None}
    fresh = [notice for notice in found if notice is not None and str(notice.kind) not in state.told]
    state.told = {kind: at for kind, at in state.told.items() if kind in holding}
    state.told |= {str(notice.kind): now for notice in fresh}
    return fresh


def _unread(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> Notice | None:
    """Usage goes on, and nobody reads the balance."""
    last = max(state.sealed, state.sync.at if state.sync else 0, state.anchor)
    began = max(last, metered.since or now)
    if now - began <= terms.stale_after:
        return None
    used = metered.total - metered.curve.begun_by(began)
    if used <= 0:
        return None
    return Notice(
        kind=Kind.USAGE_WITHOUT_READINGS,
        at=now,
        reason=f"{used:,} tokens were used since the last reading of the balance",
        numbers={"used": used},
    )


def _overdue(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> Notice | None:
    """The forenoon is over and yesterday's usage has not come back."""
    expected = expected_return(terms, metered)
    returned = returned_today(state, metered, now)
    if expected is None or not is_overdue(expected, returned, metered, now):
        return None
    hours = (now - metered.day_start) // HOUR
    return Notice(
        kind=Kind.RETURN_OVERDUE,
        at=now,
        reason=f"{expected - returned:,} of {expected:,} tokens have not come back {hours} h after the day began",
        numbers={"expected": expected, "returned": returned},
    )


def _apart(state: PoolState, metered: Metered, now: Millis) -> Notice | None:
    """The newest reading was stamped at another time than it came. What is older than metering was sent in late."""
    stamp = state.stamp
    if not stamp.apart or metered.since is None or stamp.at < metered.since:
        return None
    return Notice(
        kind=Kind.CLOCKS_APART,
        at=now,
        reason=f"times of readings are {says(stamp.apart)}",
        numbers={"ahead_ms": stamp.apart},
    )
