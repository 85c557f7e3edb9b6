"""The books of a day: opening + returns + charged - used - expired - unexplained = closing.

Every amount is at least and at most, and the true ones add up. Charged tokens are used without being taken from the
pool, so they are added back. The opening is what the day must have begun with by what is known now, narrowed by
`carried`, what the evening before left; where the two do not meet, something happened overnight that nobody saw.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from rules.calendar import Day
from rules.moment import Millis
from rules.pool_state import Bounds, Cause, Change, Metered, PoolState


class Amount(NamedTuple):
    """Tokens, at least and at most."""

    low: int
    high: int

    def meets(self, other: Amount) -> bool:
        """Whether both can be true."""
        return self.low <= other.high and other.low <= self.high

    def with_(self, other: Amount) -> Amount:
        """What is true of both."""
        return Amount(max(self.low, other.low), min(self.high, other.high))


class Ledger(Struct, frozen=True, kw_only=True):
    """One day of one model's pool."""

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
        return self.carried is None or self.opening.meets(self.carried)


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
    returns = Amount(sum(_surely_came(change) for change in came), sum(change.high for change in came))
    unexplained = Amount(-sum(change.high for change in lost), -sum(change.low for change in lost))
    expired = Amount(sum(known.least for known in ended), sum(known.most for known in ended))
    charged = Amount(bounds.charged_low, bounds.charged_high)
    closing = Amount(max(0, bounds.pool_low - metered.total), max(0, bounds.pool_high - metered.total))
    opening = Amount(
        max(0, closing.low - returns.high - charged.high + used + expired.low + unexplained.low),
        closing.high - returns.low - charged.low + used + expired.high + unexplained.high,
    )
    return Ledger(
        day=metered.day,
        opening=opening.with_(carried) if carried is not None and opening.meets(carried) else opening,
        returns=returns,
        used=used,
        charged=charged,
        expired=expired,
        unexplained=unexplained,
        closing=closing,
        carried=carried,
    )


def _surely_came(change: Change) -> int:
    """A listed package came as a whole, whatever was left of it at first sight: the rest is in `used`."""
    return change.high if change.cause is Cause.RETURN else change.low
