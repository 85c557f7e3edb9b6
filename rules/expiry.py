"""Packages that ended: what was lost with them, so that it is booked as expired and taken for no other loss."""

from __future__ import annotations

from rules.alerts import Kind
from rules.curve import Curve
from rules.moment import DAY, Millis
from rules.pool_state import Expired, Fold, Notice, PoolState


def record_expired(state: PoolState, curve: Curve, lag: Millis, now: Millis) -> list[Notice]:
    """Book the listed packages that ended by `now`, each once: at least what usage since cannot have taken."""
    ended = [package for package in state.packages if package.expires <= now]
    state.packages = [package for package in state.packages if package.expires > now]
    state.expired = [known for known in state.expired if known.at > now - 2 * DAY]
    fresh = []
    if state.floor is not None:
        left = sum(package.available for package in ended)
        state.floor = Fold(state.floor.value - left, state.floor.at, state.floor.id)
    for package in ended:
        used = curve.begun_by(package.expires) - curve.ended_by(state.listed_at - lag)
        fresh.append(Expired(package.id, package.expires, max(0, package.available - used), package.available))
    state.expired += fresh
    return [_notice(expired) for expired in fresh if expired.least]


def _notice(expired: Expired) -> Notice:
    return Notice(
        kind=Kind.EXPIRED,
        at=expired.at,
        reason=f"package {expired.id} ended with {expired.least:,} to {expired.most:,} tokens left",
        numbers={"least": expired.least, "most": expired.most},
    )
