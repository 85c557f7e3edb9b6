"""Tokens that left the pool unmetered: how many, and which share of usage that is when it keeps happening."""

from __future__ import annotations

from rules.evidence import low_of, raised_low
from rules.moment import DAY, HOUR, Millis
from rules.pool_state import Evidence, Fold, Loss, Metered, PoolState

REMEMBERED: Millis = 7 * DAY
ONE_EPISODE: Millis = HOUR  # the same loss seen in parts as it is settled
REPEATED = 2
SHARE_CEILING = 0.5


def unmetered_share(losses: list[Loss], now: Millis) -> float:
    """The share of metered usage that is lost besides, once losses repeat; 0 before."""
    recent = [loss for loss in losses if now - loss.at <= REMEMBERED]
    usage = sum(loss.usage for loss in recent)
    if len(recent) < REPEATED or usage <= 0:
        return 0.0
    return min(SHARE_CEILING, sum(loss.size for loss in recent) / usage)


def with_loss(losses: list[Loss], loss: Loss) -> list[Loss]:
    """The losses remembered after another; parts of one loss are added up."""
    kept = [known for known in losses if loss.at - known.at <= REMEMBERED][-15:]
    if kept and loss.at - kept[-1].at <= ONE_EPISODE:
        last = kept.pop()
        loss = Loss(loss.at, last.size + loss.size, last.usage + loss.usage)
    return [*kept, loss]


def raise_floor(state: PoolState, evidence: Evidence, metered: Metered, lag: Millis) -> None:
    """Keep the best low end since the anchor, without ageing: losses are measured from it."""
    value = low_of(evidence, metered.curve, lag, evidence.at)
    floor = floor_end(state, lag, metered, evidence.at)
    if floor is None or value > floor:
        state.floor = Fold(value - metered.curve.seed, evidence.at, evidence.id)


def floor_end(state: PoolState, lag: Millis, metered: Metered, now: Millis) -> int | None:
    """That low end now, if metering had no gap since."""
    floor = state.floor
    if floor is None or metered.since is None or floor.at - lag < metered.since:
        return None
    return raised_low(floor.value + metered.curve.seed, floor.at, state.changes, now)
