"""The two ends of the pool from all evidence: the high end never forgets, the low end believes recent readings."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from rules.curve import Curve
from rules.evidence import (
    CLOCKS_DIFFER,
    high_of,
    low_counts,
    low_of,
    raised_fold,
    raised_high,
    raised_low,
    window,
    witness,
)
from rules.lag_bound import lag_in_force
from rules.losses import unmetered_share
from rules.moment import HOUR, Millis
from rules.policy import ModelTerms
from rules.pool_state import Change, Evidence, Fold, Metered, PoolState

EVIDENCE_KEPT = 64
CHANGES_KEPT: Millis = 48 * HOUR


class End(Struct, frozen=True):
    """One end on the cumulative scale, and the reading it came from."""

    value: int
    id: str
    exact: bool = False  # the settlement is known, or an operator said so: no allowance for residuals


def high_end(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> End | None:
    """The lowest of what readings allow; None when there is no reading."""
    lag, curve = lag_in_force(state, terms, now), metered.curve
    ends = [
        End(raised_high(high_of(known, curve, lag, now), known.at, state.changes, curve, now), known.id, known.exact)
        for known in state.evidence
        if known.seen >= state.opened
    ]
    if state.top is not None:
        ends.append(End(raised_fold(state.top, state.changes, curve, now), state.top.id))
    return min(ends, key=lambda end: end.value, default=None)


def low_end(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> End | None:
    """The best of recent readings, those included that still wait for late usage; None when none counts."""
    lag, curve = lag_in_force(state, terms, now), metered.curve
    known = state.evidence + [witness(reading) for reading in state.pending if state.anchor <= reading.at <= now]
    if not known:
        return None
    oldest = max(evidence.seen for evidence in known) - window(known, lag)
    share = unmetered_share(state.losses, now)
    ends = []
    for evidence in known:
        if evidence.seen >= oldest and low_counts(evidence, metered.since, lag):
            value = raised_low(low_of(evidence, curve, lag, now), evidence.at, state.changes, now)
            unseen = share * (curve.total - curve.ended_by(evidence.asked - lag)) if share else 0
            ends.append(End(value - round(unseen), evidence.id, evidence.exact))
    return max(ends, key=lambda end: end.value, default=None)


def forget(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> None:
    """Drop evidence that can no longer matter; what is too old to be revised by late usage becomes one number."""
    curve, lag = metered.curve, lag_in_force(state, terms, now)
    recent = max(known.seen for known in state.evidence) - window(state.evidence, lag)
    settled_before = now - terms.lag_ceiling - HOUR
    state.changes = [_settled(change, curve) if change.at < settled_before else change for change in state.changes]
    kept: list[Evidence] = []
    best: int | None = None if state.top is None else raised_fold(state.top, state.changes, curve, now)
    for index, known in enumerate(state.evidence):
        high = raised_high(high_of(known, curve, lag, now), known.at, state.changes, curve, now)
        tightens = known.seen >= state.opened and (best is None or high < best)
        best = high if tightens else best
        surplus = len(state.evidence) - index > EVIDENCE_KEPT
        if tightens and (surplus or known.at < settled_before):
            _fold_high(state, known, metered, lag)
        if not surplus and (
            index >= len(state.evidence) - 4 or known.seen >= recent or (tightens and known.at >= settled_before)
        ):
            kept.append(known)
    state.evidence = kept
    _forget_changes(state, metered, now)


def _settled(change: Change, curve: Curve) -> Change:
    if change.used is not None:
        return change
    return replace(change, used=curve.begun_by(change.at + CLOCKS_DIFFER) - curve.seed - curve.late)


def _fold_high(state: PoolState, known: Evidence, metered: Metered, lag: Millis) -> None:
    curve = metered.curve
    value = high_of(known, curve, lag, known.at)
    if state.top is not None:
        value = min(value, raised_fold(state.top, state.changes, curve, known.at))
    state.top = Fold(value - curve.seed - curve.late, known.at, known.id)


def _forget_changes(state: PoolState, metered: Metered, now: Millis) -> None:
    """Changes older than two days are worked into the folded numbers."""
    past = [change for change in state.changes if change.at < now - CHANGES_KEPT]
    if not past:
        return
    last = past[-1].at
    if state.top is not None and state.top.at < last:
        curve = metered.curve
        value = raised_fold(state.top, past, curve, last)
        state.top = Fold(value - curve.seed - curve.late, last, state.top.id)
    if state.floor is not None and state.floor.at < last:
        value = raised_low(state.floor.value, state.floor.at, past, last)
        state.floor = Fold(value, last, state.floor.id)
    state.changes = [change for change in state.changes if change.at >= now - CHANGES_KEPT]
