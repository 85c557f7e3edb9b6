"""What an operator read off the provider's console: the pool when the day began, beside what the readings say."""

from __future__ import annotations

from bisect import insort

from rules.alerts import Kind
from rules.ends import high_end, low_end
from rules.evidence import ending, high_of, low_of, raised_high, raised_low, residual
from rules.lag_bound import lag_in_force
from rules.losses import raise_floor
from rules.moment import Millis
from rules.policy import ModelTerms
from rules.pool_state import Evidence, Metered, Notice, PoolState
from rules.records import Calibration


def calibrate(
    state: PoolState, terms: ModelTerms, metered: Metered, calibration: Calibration, now: Millis
) -> list[Notice]:
    """Take a calibration in. Where it does not meet the present interval the lower rules, and the operator is asked.

    With `force` everything known before is forgotten. A calibration of another day than the present one is refused.
    """
    if any(known.id == calibration.id for known in state.evidence):
        return []
    if calibration.day != metered.day:
        return [_conflict(calibration, f"it is for {calibration.day}, the accounting day is {metered.day}")]
    told = _as_evidence(state, calibration, metered)
    if calibration.force:
        _rule_alone(state, told, metered, terms, now)
        return [_taken(calibration)]
    low, high = _interval(state, told, metered, terms, now)
    known_low, known_high = low_end(state, terms, metered, now), high_end(state, terms, metered, now)
    tolerance = residual(calibration.pool)
    if known_high is not None and low > known_high.value + tolerance:
        return [
            _conflict(calibration, f"the readings allow {known_high.value - metered.day_base:,} at most: they rule")
        ]
    if known_low is not None and high < known_low.value - tolerance:
        _rule_alone(state, told, metered, terms, now)
        return [_conflict(calibration, f"the readings say {known_low.value - metered.day_base:,} at least: it rules")]
    insort(state.evidence, told, key=lambda known: (known.at, known.id))
    return [_taken(calibration)]


def _as_evidence(state: PoolState, calibration: Calibration, metered: Metered) -> Evidence:
    """A reading at the start of the day."""
    at = metered.day_start
    return Evidence(
        id=calibration.id,
        at=at,
        asked=at,
        balance=calibration.pool,
        source="console",
        expiring=ending(state.packages, at),
        since=metered.since,
        count=metered.day_base,
        entered=calibration.at,
        trusted=calibration.force,
    )


def _interval(state: PoolState, told: Evidence, metered: Metered, terms: ModelTerms, now: Millis) -> tuple[int, int]:
    """Both ends of the calibration now, with the day's arrivals and losses."""
    curve, lag = metered.curve, lag_in_force(state, terms, now)
    low = raised_low(low_of(told, curve, lag, now), told.at, state.changes, now)
    return low, raised_high(high_of(told, curve, lag, now), told.at, state.changes, curve, now)


def _rule_alone(state: PoolState, told: Evidence, metered: Metered, terms: ModelTerms, now: Millis) -> None:
    state.evidence, state.pending = [told], []
    state.anchor, state.opened = told.at, 0
    state.top = state.floor = None
    raise_floor(state, told, metered, lag_in_force(state, terms, now))


def _taken(calibration: Calibration) -> Notice:
    by = calibration.by or "an operator"
    how = "by force, against everything known before" if calibration.force else "beside the readings"
    return Notice(
        kind=Kind.CALIBRATED,
        at=calibration.at,
        reason=f"{by} set the pool of {calibration.day} to {calibration.pool:,}, {how}",
        numbers={"pool": calibration.pool},
    )


def _conflict(calibration: Calibration, why: str) -> Notice:
    return Notice(
        kind=Kind.CALIBRATION_CONFLICT,
        at=calibration.at,
        reason=f"calibration {calibration.id} to {calibration.pool:,} does not fit: {why}",
        numbers={"pool": calibration.pool},
    )
