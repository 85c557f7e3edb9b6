"""A day's account of a model, told with every entry of its history: the ledger so far, and what is to come."""

from __future__ import annotations

from msgspec import Struct

from rules.calendar import Day
from rules.ledger import Amount, Ledger, keep_books
from rules.moment import Millis
from rules.outlook import Outlook, outlook
from rules.policy import ModelTerms
from rules.pool_state import Bounds, Metered, PoolState


class Evening(Struct, frozen=True):
    """Both ends of the pool when `day` ended, on the cumulative scale: usage of that day may still come late."""

    day: Day
    low: int
    high: int

    def left(self, day_base: int) -> Amount:
        """What the next day begins with; `day_base` is C at its start, as far as it is known by now."""
        return Amount(max(0, self.low - day_base), max(0, self.high - day_base))


class Account(Struct, frozen=True, kw_only=True):
    """`ledger` None: an end of the pool is unknown."""

    ledger: Ledger | None
    outlook: Outlook


def evening_of(day: Day, bounds: Bounds) -> Evening | None:
    """What is kept of a day that ended with these bounds; None if one was unknown."""
    if bounds.pool_low is None or bounds.pool_high is None:
        return None
    return Evening(day, bounds.pool_low, bounds.pool_high)


def account(
    state: PoolState, terms: ModelTerms, metered: Metered, bounds: Bounds, now: Millis, evening: Evening | None = None
) -> Account:
    """The account at `now`; `evening` is of the day before."""
    carried = None if evening is None else evening.left(metered.day_base)
    return Account(
        ledger=keep_books(state, metered, bounds, now, carried),
        outlook=outlook(state, terms, metered, bounds, now),
    )
