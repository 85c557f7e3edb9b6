"""Packages that ended: what was lost with them, so that it is booked as expired and taken for no other loss."""

from __future__ import annotations

from rules.alerts import Kind
from rules.evidence import allowance
from rules.moment import DAY, Millis
from rules.pool_state import Expired, Fold, Metered, Notice, PoolState


def record_expired(state: PoolState, metered: Metered, lag: Millis, now: Millis) -> list[Notice]:
    """Book the listed packages that ended by `now`, each once: at least what usage since cannot have taken."""
    ended = [package for package in state.packages if package.expires <= now]
    state.packages = [package for package in state.packages if package.expires > now]
    state.expired = [known for known in state.expired if known.at > now - 2 * DAY]
    give = allowance(sum(package.available for package in [*ended, *state.packages]))
    listed = state.listed_at - lag
    known, settled = metered.since is not None and listed >= metered.since, metered.curve.ended_by(listed)
    fresh = []
    if state.floor is not None:
        left = sum(package.available for package in ended)
        state.floor = Fold(state.floor.value - left, state.floor.at, state.floor.id)
    for package in ended:
        off = 0 if package.available >= package.total else give  # a whole one is no reading that may be off
        least = package.available - off - metered.curve.begun_by(package.expires) + settled if known else 0
        most = min(package.total, package.available + off)
        fresh.append(Expired(package.id, package.expires, max(0, least), most))
    # A list that arrives late shows once more what has ended, and knows better what was left of it.
    booked, again = {known.id for known in state.expired}, {known.id for known in fresh}
    state.expired = [known for known in state.expired if known.id not in again] + fresh
    return [_notice(expired) for expired in fresh if expired.least and expired.id not in booked]


def _notice(expired: Expired) -> Notice:
    return Notice(
        kind=Kind.EXPIRED,
        at=expired.at,
        reason=f"package {expired.id} ended with {expired.least:,} to {expired.most:,} tokens left",
        numbers={"least": expired.least, "most": expired.most},
    )
