"""What a reading that does not fit the pool means: an empty pool, a longer lag, an arrival nobody saw, or a loss."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.ends import high_end
from rules.evidence import is_covered, low_of, residual
from rules.lag_bound import fitting_lag, lag_in_force
from rules.losses import floor_end
from rules.moment import Millis
from rules.policy import ModelTerms
from rules.pool_state import Evidence, Metered, PoolState


class Verdict(StrEnum):
    """How a reading stands to the pool known before it."""

    FITS = "fits"
    EMPTY = "empty"  # nothing is left and C contains charged tokens
    LAGS = "lags"  # settled longer ago than D allows
    LONG = "long"  # than the policy's D allows, and a learned one does: it fits
    UNSEEN = "unseen"  # more is there than any lag explains
    LOSS = "loss"  # less is there than was metered away


class Finding(Struct, frozen=True, kw_only=True):
    """The verdict, with the least and most the pool moved (UNSEEN, LOSS) or the lag that fits (LAGS)."""

    verdict: Verdict
    least: int = 0
    most: int = 0
    lag: Millis = 0


FITS = Finding(verdict=Verdict.FITS)
LONG = Finding(verdict=Verdict.LONG)


def examine(state: PoolState, terms: ModelTerms, metered: Metered, reading: Evidence, arrived: bool) -> Finding:
    """Test a reading, on complete usage, against all before it. An arrival that it shows explains a surplus."""
    high = high_end(state, terms, metered, reading.at)
    if high is None:
        return FITS
    lag, curve = lag_in_force(state, terms, reading.at), metered.curve
    tolerance = residual(high.value - metered.day_base)
    low, ceiling = low_of(reading, curve, lag, reading.at), reading.balance + curve.begun_by(reading.at)
    floor = floor_end(state, lag, metered, reading.at)
    if low > high.value + tolerance:
        # Before metering has run for D, usage that nobody counted may have come and gone from the books.
        if arrived or not is_covered(reading, metered.since, lag):
            return FITS
        before = high.value if floor is None else min(floor, high.value)
        unseen = Finding(verdict=Verdict.UNSEEN, least=low - high.value, most=ceiling - before)
        return _harmless(reading, terms, metered, high=high.value, tolerance=tolerance, lag=lag) or unseen
    if floor is None or ceiling >= floor - tolerance:
        usual = low_of(reading, curve, terms.max_lag, reading.at)
        return LONG if not arrived and usual > high.value + tolerance and reading.balance > tolerance else FITS
    return Finding(verdict=Verdict.LOSS, least=floor - ceiling, most=max(floor - ceiling, high.value - low))


def _harmless(
    reading: Evidence, terms: ModelTerms, metered: Metered, *, high: int, tolerance: int, lag: Millis
) -> Finding | None:
    """A surplus without an arrival: an empty pool, or a longer lag. To start afresh on these is what costs money."""
    if reading.balance <= tolerance:
        return Finding(verdict=Verdict.EMPTY)
    longer = fitting_lag(reading, high + tolerance, metered.curve, terms, lag)
    return None if longer is None else Finding(verdict=Verdict.LAGS, lag=longer)
