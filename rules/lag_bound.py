"""The lag bound D: where it starts, how a reading that breaks it teaches a longer one, and when that is forgotten."""

from __future__ import annotations

from msgspec.structs import replace

from rules.curve import Curve
from rules.moment import DAY, MINUTE, Millis
from rules.policy import ModelTerms
from rules.pool_state import Evidence, Lag, PoolState

FORGOTTEN_AFTER: Millis = DAY
MARGIN: Millis = 10 * MINUTE  # a break shows that the lag is longer than D, not how long it is


def lag_in_force(state: PoolState, terms: ModelTerms, now: Millis) -> Millis:
    """D: the policy's, or a longer one that was learned or needed within the last day."""
    return terms.max_lag if _is_forgotten(state.lag, now) else max(terms.max_lag, state.lag.bound)


def fitting_lag(evidence: Evidence, ceiling: int, curve: Curve, terms: ModelTerms, lag: Millis) -> Millis | None:
    """The shortest lag above D with which the reading stays under `ceiling`, plus a margin; None beyond D_max."""
    if evidence.settled is not None:
        return None
    for longer in range(lag + MINUTE, terms.lag_ceiling + MINUTE, MINUTE):
        if evidence.balance + curve.ended_by(evidence.asked - longer) <= ceiling:
            return min(longer + MARGIN, terms.lag_ceiling)
    return None


def learned(state: PoolState, terms: ModelTerms, at: Millis, longer: Millis) -> Lag:
    """The bound after a break at `at`. Breaks less than D_max apart are one episode, undone as a whole."""
    if at - state.lag.at <= terms.lag_ceiling:
        return Lag(longer, at, state.lag.since, state.lag.before)
    return Lag(longer, at, at, 0 if _is_forgotten(state.lag, at) else state.lag.bound)


def needed(state: PoolState, at: Millis) -> Lag:
    """The learned bound, kept for another day: were it forgotten, this reading would have to teach it again."""
    return replace(state.lag, needed=at)


def undone(state: PoolState, terms: ModelTerms, at: Millis) -> Lag:
    """The bound without the episode in progress at `at`: it was an arrival, not a lag."""
    if at - state.lag.at > terms.lag_ceiling:
        return state.lag
    return Lag(state.lag.before, state.lag.since, state.lag.since, 0)


def _is_forgotten(lag: Lag, now: Millis) -> bool:
    return now - max(lag.at, lag.needed) > FORGOTTEN_AFTER
