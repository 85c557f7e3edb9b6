"""The end of a model's day: how long calls were refused on it, and its books once all its usage has arrived."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from rules.calendar import Day
from rules.counter import Counter, add
from rules.curve import Curve
from rules.day_book import DayBook, Span
from rules.facts import Scope
from rules.ledger import Ledger, keep_books
from rules.moment import Millis
from rules.pool_state import Bounds, Metered, PoolState
from rules.ruling import Ruling

REFUSING = frozenset({"block", "kill", "unknown"})


class Refusing(Struct, frozen=True):
    """How long calls have been refused on `day`: in stretches that are over, and since `since` (0: not now)."""

    day: Day = ""
    over: Millis = 0
    since: Millis = 0

    def until(self, at: Millis) -> Millis:
        """In all, up to `at`."""
        return self.over + (max(0, at - self.since) if self.since else 0)


class DayEnd(Struct, frozen=True):
    """What is kept of a day that has ended until its usage is complete."""

    day: Day
    bounds: Bounds
    refused: Millis


def refusing_after(before: Refusing, ruling: Ruling, day_start: Millis) -> Refusing:
    """With one more ruling. A stretch over midnight is cut there."""
    refuses = ruling.action in REFUSING
    if before.day != ruling.day:
        return Refusing(ruling.day, 0, (day_start if before.since else ruling.at) if refuses else 0)
    if refuses == bool(before.since):
        return before
    return replace(before, since=ruling.at) if refuses else Refusing(before.day, before.until(ruling.at), 0)


class Frame(Struct, frozen=True, kw_only=True):
    """A day between two instants, and what the cumulative counter stood at then."""

    start: Millis
    end: Millis
    base: int
    total: int


def day_book(scope: Scope, ended: DayEnd, frame: Frame, state: PoolState, counter: Counter) -> DayBook:
    """The books of a day that has ended."""
    sums = add(part.sums for part in counter.days.get(ended.day, {}).values())
    ledger = _ledger(ended, frame, state)
    spans = {} if ledger is None else _spans(ledger)
    return DayBook(
        scope=scope,
        day=ended.day,
        used=frame.total - frame.base,
        requests=sums.requests,
        cache_hits=sums.cache_hits,
        cached=sums.cached,
        saved=sums.saved,
        refused=ended.refused,
        **spans,
    )


def _ledger(ended: DayEnd, frame: Frame, state: PoolState) -> Ledger | None:
    curve = Curve()
    curve.seed = frame.total  # the books ask for the sum only
    metered = Metered(
        curve=curve, complete_until=None, since=None, day=ended.day, day_start=frame.start, day_base=frame.base
    )
    return keep_books(state, metered, ended.bounds, frame.end - 1)


def _spans(ledger: Ledger) -> dict[str, Span]:
    amounts = {
        "returned": ledger.returns,
        "expired": ledger.expired,
        "unexplained": ledger.unexplained,
        "charged": ledger.charged,
        "left": ledger.closing,
    }
    return {name: (amount.low, amount.high) for name, amount in amounts.items()}
