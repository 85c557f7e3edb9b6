"""What each formula's limits were worth, seen from afterwards: later readings prove what the pool was.

Between arrivals, losses and ends of packages the pool stays the same, so the best low and the best high end of such an
episode hold for all of it. Recorded usage is taken as it was; of every token it is asked whether it was free, and
whether the formula's limit, as it stood at that time, let it pass.

    let through, not free      charged: it would have cost money
    refused, though free       refused, or unknown where it was because nothing was known: no reading, or too old a one
    limit above the pool       beyond: so much could have been charged, had it been asked for
    limit below the pool       unused: at the end of a day, of what is left up to the daily cap

Each is a pair: at least so much is proven, at most so much is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from rules.calendar import Day
from rules.evidence import residual
from rules.facts import Scope
from rules.ledger import Amount
from rules.moment import Millis
from rules.pool_state import Cause
from rules.records import Refusal

NOTHING = Amount(0, 0)


class Seen(Struct, frozen=True, kw_only=True):
    """What a ruling knew, and the limits that hold from then on. `low`, `high`, `base` and `total` are cumulative."""

    scope: Scope
    at: Millis
    day: Day
    base: int  # when the day began
    total: int
    low: int | None
    high: int | None
    limits: dict[str, int | None]  # by formula, of the day; None: unknown, so nothing is let through
    cap: int
    buffer: int
    since: Millis  # the pool has been the same since
    cause: Cause | None = None  # what changed it then
    reading_at: Millis | None = None

    @property
    def capped(self) -> int:
        """The count at which the daily cap is reached."""
        return self.base + self.cap


class Tally(Struct, kw_only=True):
    """What one formula's limits did."""

    formula: str
    charged: Amount = NOTHING
    refused: Amount = NOTHING
    unknown: Amount = NOTHING
    beyond: Amount = NOTHING  # at worst
    beyond_at: Millis | None = None  # when that was
    unused: Amount = NOTHING
    false_blocks: int = 0  # times it began to refuse with more than the buffer left
    refusing: Millis = 0  # for how long, in all


class Gate(Struct, kw_only=True):
    """What the gate did that wrote the recording, as far as it says so."""

    refused: int = 0
    falsely: int = 0  # of these calls, with enough free tokens left
    example: Refusal | None = None
    left: int = 0  # free tokens that were left at least at the example, whatever the cap


class Stretch(Struct):
    """From one ruling to the next: usage went from `seen.total` to `to`."""

    seen: Seen
    to: int
    until: Millis
    ends_day: bool = False
    refused: int = 0  # calls that the recorded gate refused
    hardest: Refusal | None = None  # of these, the one that needed most


class Hindsight:
    """One model's limits under some formulas. Feed it rulings in order; read it after `finish`."""

    def __init__(self, scope: Scope, formulas: Iterable[str]) -> None:
        self.scope = scope
        self.tallies = {name: Tally(formula=name) for name in formulas}
        self.gate = Gate()
        self.days: set[Day] = set()
        self.unproven = 0  # tokens of which nothing proves whether they were free
        self._episode: list[Stretch] = []
        self._blocking: set[str] = set()

    def see(self, seen: Seen) -> None:
        """A ruling, after all before it."""
        self.days.add(seen.day)
        if self._episode:
            last = self._episode[-1]
            last.until = seen.at
            last.ends_day = seen.day != last.seen.day
            last.to = max(last.to, seen.base if last.ends_day else seen.total)
            if seen.since > last.seen.since:
                self._close(seen)
        self._episode.append(Stretch(seen, max(seen.base, seen.total), seen.at))

    def refuse(self, refusal: Refusal) -> None:
        """A call that the recorded gate refused."""
        if not self._episode:
            return
        stretch = self._episode[-1]
        stretch.refused += 1
        if stretch.hardest is None or _need(refusal) > _need(stretch.hardest):
            stretch.hardest = refusal

    def finish(self) -> None:
        """The recording has ended."""
        if self._episode:
            self._episode[-1].ends_day = True
            self._close(None)

    def _close(self, following: Seen | None) -> None:
        """Weigh the stretches of an episode by what all of its readings prove."""
        episode, self._episode = self._episode, []
        low = max((stretch.seen.low for stretch in episode if stretch.seen.low is not None), default=None)
        high = min((stretch.seen.high for stretch in episode if stretch.seen.high is not None), default=None)
        if following is not None and following.cause is Cause.LOSS and low is not None:
            low = None if following.low is None else min(low, following.low)  # part of it may have been gone before
        if low is not None and high is not None and low > high:
            low, high = high, low
        for stretch in episode:
            self._weigh(stretch, low, _arriving(stretch, episode[-1], high, following))
        if following is None:
            self._blocking.clear()

    def _weigh(self, stretch: Stretch, low: int | None, high: int | None) -> None:
        if low is None or high is None:
            self.unproven += stretch.to - stretch.seen.total
        for name, limit in stretch.seen.limits.items():
            tally = self.tallies[name]
            line = stretch.seen.total if limit is None else stretch.seen.base + limit
            tally.charged = _plus(tally.charged, _between(_charged, stretch, line, high, low))
            refused = _between(_refused, stretch, line, low, high)
            if limit is None:
                tally.unknown = _plus(tally.unknown, refused)
            else:
                tally.refused = _plus(tally.refused, refused)
                _reach(tally, _between(_beyond, stretch, line, high, low), stretch.seen.at)
            if stretch.ends_day:
                shut = stretch.to if limit is None else line
                tally.unused = _plus(tally.unused, _between(_unused, stretch, shut, low, high))
            self._block(tally, stretch, limit, low)
        if stretch.hardest is not None:
            _judge_gate(self.gate, stretch, stretch.hardest, low)

    def _block(self, tally: Tally, stretch: Stretch, limit: int | None, low: int | None) -> None:
        """Whether the limit refuses at the beginning of a stretch though more than the buffer is left for certain."""
        seen = stretch.seen
        left = -1 if low is None else min(low, seen.capped) - seen.total
        if limit is None or seen.total < seen.base + limit or left <= seen.buffer + residual(left):
            self._blocking.discard(tally.formula)
            return
        tally.false_blocks += tally.formula not in self._blocking
        tally.refusing += stretch.until - seen.at
        self._blocking.add(tally.formula)


Weight = Callable[[Stretch, int, int], int]
"""Tokens of a stretch by (stretch, count at which the limit stands, count at which the pool ends)."""


def _arriving(stretch: Stretch, last: Stretch, high: int | None, following: Seen | None) -> int | None:
    """The high end of a stretch. What arrived is seen by a reading; it may have been there since the one before."""
    arrived = following is not None and following.cause not in (None, Cause.LOSS)
    if following is None or not arrived or high is None or stretch.until <= (last.seen.reading_at or 0):
        return high
    return None if following.high is None else max(high, following.high)


def _between(weigh: Weight, stretch: Stretch, line: int, sure: int | None, possible: int | None) -> Amount:
    """At least, by the end that proves it; at most, by the other. What is not known proves nothing."""
    least = 0 if sure is None else weigh(stretch, line, sure)
    return Amount(least, least if possible is None else max(least, weigh(stretch, line, possible)))


def _charged(stretch: Stretch, line: int, pool: int) -> int:
    return max(0, min(stretch.to, line) - max(stretch.seen.total, pool))


def _refused(stretch: Stretch, line: int, pool: int) -> int:
    return max(0, min(stretch.to, pool, stretch.seen.capped) - max(stretch.seen.total, line))


def _beyond(stretch: Stretch, line: int, pool: int) -> int:
    return max(0, line - max(pool, stretch.seen.total))


def _unused(stretch: Stretch, line: int, pool: int) -> int:
    return max(0, min(pool, stretch.seen.capped) - max(line, stretch.to))


def _need(refusal: Refusal) -> int:
    return refusal.usage + refusal.reserve


def _judge_gate(gate: Gate, stretch: Stretch, hardest: Refusal, low: int | None) -> None:
    """Where even the call that needed most would have been free and under the cap, all were refused falsely."""
    gate.refused += stretch.refused
    if low is None or _need(hardest) > min(low, stretch.seen.capped) - stretch.seen.base:
        return
    gate.falsely += stretch.refused
    if gate.example is None:
        gate.example, gate.left = hardest, low - stretch.seen.base - hardest.usage


def _plus(one: Amount, other: Amount) -> Amount:
    return Amount(one.low + other.low, one.high + other.high)


def _reach(tally: Tally, beyond: Amount, at: Millis) -> None:
    if beyond.low > tally.beyond.low:
        tally.beyond_at = at
    tally.beyond = Amount(max(tally.beyond.low, beyond.low), max(tally.beyond.high, beyond.high))
