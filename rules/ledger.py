"""The books of a day: opening + returns + charged - used - expired - unexplained = closing, at both ends.

Charged tokens are used without being taken from the pool, so they are added back. The opening is what the day must have
begun with by what is known now; `carried` is what the evening before thought it was, and the two must meet.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from rules.calendar import Day
from rules.moment import Millis
from rules.pool_state import Bounds, Cause, Metered, PoolState


class Amount(NamedTuple):
    """Tokens, at least and at most."""

    low: int
    high: int


class Ledger(Struct, frozen=True, kw_only=True):
    """One day of one model's pool. Losses lower the low end by their `high`, as less may be left."""

    day: Day
    opening: Amount
    returns: Amount
    used: int
    charged: Amount
    expired: Amount
    unexplained: Amount
    closing: Amount
    carried: Amount | None = None

    @property
    def meets(self) -> bool:
        """Whether the opening agrees with the evening before."""
        return self.carried is None or (self.opening.low <= self.carried.high and self.carried.low <= self.opening.high)


def keep_books(
    state: PoolState, metered: Metered, bounds: Bounds, now: Millis, carried: Amount | None = None
) -> Ledger | None:
    """The day's ledger up to `now`; None while an end of the pool is unknown."""
    if bounds.pool_low is None or bounds.pool_high is None:
        return None
    used, changes = metered.total - metered.day_base, [c for c in state.changes if metered.day_start <= c.at <= now]
    came = [change for change in changes if change.cause is not Cause.LOSS]
    lost = [change for change in changes if change.cause is Cause.LOSS]
    ended = [known for known in state.expired if metered.day_start <= known.at <= now]
    returns = Amount(sum(change.low for change in came), sum(change.high for change in came))
    unexplained = Amount(-sum(change.high for change in lost), -sum(change.low for change in lost))
    expired = Amount(sum(known.least for known in ended), sum(known.most for known in ended))
    charged = Amount(bounds.charged_low, bounds.charged_high)
    closing = Amount(max(0, bounds.pool_low - metered.total), max(0, bounds.pool_high - metered.total))
    opening = Amount(
        closing.low - returns.low - charged.high + used + expired.high + unexplained.high,
        closing.high - returns.high - charged.low + used + expired.low + unexplained.low,
    )
    return Ledger(
        day=metered.day,
        opening=opening,
        returns=returns,
        used=used,
        charged=charged,
        expired=expired,
        unexplained=unexplained,
        closing=closing,
        carried=carried,
    )
