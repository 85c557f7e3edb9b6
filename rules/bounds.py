"""What is known of a pool at an instant: both ends, the lag, what was charged, and why an end is unknown."""

from __future__ import annotations

from rules.ends import End, high_end, low_end
from rules.evidence import CLOCKS_DIFFER, allowance, is_empty
from rules.lag_bound import lag_in_force
from rules.losses import unmetered_share
from rules.moment import DAY, Millis
from rules.policy import ModelTerms, Unknown
from rules.pool_state import Bounds, Metered, PoolState, Sync

BY_HAND_LASTS: Millis = 2 * DAY  # a pool that only an operator ever told


def bounds(state: PoolState, terms: ModelTerms, metered: Metered, now: Millis) -> Bounds:
    low, high = published(low_end(state, terms, metered, now), high_end(state, terms, metered, now))
    stale = _is_stale(state, terms, now)
    why = "" if low is not None else _why_unknown(state, metered, terms, now)
    if stale and terms.unknown is Unknown.CLOSE and low is not None:
        low, why = None, "the last reading is too old"
    past = [change for change in state.changes if metered.day_start <= change.at <= now]
    certain = charged_for_certain(high, metered, state.vouched)
    sync = state.sync
    bound = lag_in_force(state, terms, now)
    lag_tokens_low, lag_tokens_high, lag_seconds = _lag(sync, metered, low, high, bound)
    return Bounds(
        pool_low=low.value if low else None,
        pool_high=high.value if high else None,
        lag_bound=bound,
        lag_tokens_low=lag_tokens_low,
        lag_tokens_high=lag_tokens_high,
        lag_seconds=lag_seconds,
        charged_low=sum(change.charged_low for change in past) + certain,
        charged_high=sum(change.charged_high for change in past)
        + max(certain, charged_at_most(state, low, metered.total, metered)),
        complete=sync is not None and not state.pending,
        stale=stale,
        why=why,
        low_from=low.id if low else "",
        high_from=high.id if high else "",
        latest=sync.id if sync else "",
        balance=sync.balance if sync else None,
        usage=sync.usage if sync else None,
        reading_at=sync.at if sync else None,
        share=unmetered_share(state.losses, now),
        grant=state.grant,
    )


def published(low: End | None, high: End | None) -> tuple[End | None, End | None]:
    """Both ends with the allowance for residuals; where they cross, the lower rules."""
    if high is None:
        return low, None
    give = allowance(high.value)
    if low is not None:
        value = min(low.value, high.value)
        low = End(value if low.exact else value - give, low.id)
    return low, End(high.value if high.exact else high.value + give, high.id)


def charged_at_most(state: PoolState, low: End | None, used: int, metered: Metered) -> int:
    """What of the day's usage is beyond the low end; where that is unknown all of it, if the pool was seen empty."""
    if low is None and not (state.evidence and is_empty(state.evidence[-1])):
        return 0
    return max(0, used - max(metered.day_base, low.value if low else 0))


def charged_for_certain(high: End | None, metered: Metered, until: Millis) -> int:
    """What of the day's usage is beyond the high end, of usage before `until`, up to when all that came to the pool is
    known: later usage may have been taken from a package that no reading has shown yet. A clock that is behind stamps
    usage too early."""
    used = metered.curve.ended_by(until - CLOCKS_DIFFER)
    return 0 if high is None else max(0, used - max(high.value, metered.day_base))


def _lag(
    sync: Sync | None, metered: Metered, low: End | None, high: End | None, bound: Millis
) -> tuple[int | None, int | None, float | None]:
    """How far the newest reading was behind, in tokens (at least, at most) and in seconds (between them, at most D)."""
    if sync is None or high is None:
        return None, None, None
    ceiling = sync.balance + metered.curve.about(sync.at)
    least = max(0, ceiling - high.value)
    if low is None:
        return least, None, None
    most = max(least, ceiling - low.value)
    if least == 0 and most <= 2 * allowance(high.value):
        return least, most, 0.0  # settled: what is left is no more than residuals
    reached = metered.curve.reached((high.value + low.value) // 2 - sync.balance)
    return least, most, None if reached is None else min(max(0, sync.at - reached), bound) / 1000


def _is_stale(state: PoolState, terms: ModelTerms, now: Millis) -> bool:
    entered = max((known.seen for known in state.evidence), default=now)
    if state.sync is None:
        return now - entered > BY_HAND_LASTS
    return now - max(entered, state.sync.at) > terms.stale_after


def _why_unknown(state: PoolState, metered: Metered, terms: ModelTerms, now: Millis) -> str:
    if not state.evidence and not state.pending:
        return "no reading of the balance yet"
    if metered.since is None or now - metered.since < lag_in_force(state, terms, now):
        return "metering has not run for the lag bound yet"
    return "no reading since metering has run for the lag bound"
