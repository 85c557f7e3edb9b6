"""What a decision stands on: every reading, change and number behind its limit. It travels with the decision in the
history, so that any of them can be explained later. Small: a few readings and changes, whatever happened.

Amounts are tokens of the accounting day, like `limit` and `used`. Numbers of 0 are left out where it is written.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.moment import Millis
from rules.pool_state import Cause, Expired


class Part(StrEnum):
    """What a reading does to the ends of the pool."""

    LOW = "low"  # gives the low end
    HIGH = "high"  # gives the high end
    LATEST = "latest"
    WAITS = "waits"  # usage before it may still come late: it bounds nothing from above yet
    OLD = "old"  # too old for the low end
    EARLY = "early"  # usage before it was not metered for the lag bound: no low end
    BEFORE = "before"  # of before an arrival whose size is open: bounds nothing from above
    SILENT = "silent"  # kept as evidence of nothing: the pool was empty, or an operator overruled it


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one reading says about the pool when the decision is made."""

    id: str
    at: Millis
    balance: int
    by: Millis  # usage that had ended by then was surely settled
    settled: int  # that usage; below 0 it is usage of the day before that perhaps was not settled yet
    used: int  # usage that perhaps was settled: all until the reading
    parts: tuple[Part, ...] = ()
    origin: str = ""  # topic/partition/offset, or file:line
    ending: int = 0  # of packages that end soon: not counted for the low end
    lost: int = 0  # of packages that ended: surely not used, not counted for the high end
    unmetered: int = 0  # what passes no meter, as learned: not counted for the low end
    doubtful: int = 0  # used, but perhaps charged, as the pool was empty: not counted for the low end
    came_low: int = 0  # arrivals after it, less losses
    came_high: int = 0
    entered: Millis | None = None  # of a calibration: when an operator gave it
    exact: bool = False  # no allowance for residuals: the settlement is known, or an operator gave it

    @property
    def low(self) -> int | None:
        """The pool is at least this; None: the reading has no say in it."""
        if Part.EARLY in self.parts or Part.SILENT in self.parts:
            return None
        return self.balance + self.settled - self.ending - self.unmetered - self.doubtful + self.came_low

    @property
    def high(self) -> int | None:
        """The pool is at most this; None: the reading has no say in it."""
        if Part.SILENT in self.parts:
            return None
        return self.balance + self.used - self.lost + self.came_high


class Remembered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A high end that outlived its reading: only the number is kept."""

    id: str
    at: Millis
    high: int
    origin: str = ""


class Moved(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The pool rose (or fell, negative) by `low` to `high` tokens at `at`."""

    cause: Cause
    at: Millis
    low: int
    high: int
    id: str = ""
    seen: Millis = 0  # when a reading showed it


class LagBound(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far behind readings may be. A bound longer than `usual` was learned at `at`."""

    bound: Millis
    usual: Millis
    at: Millis = 0


class Terms(Struct, frozen=True, kw_only=True):
    """The policy's numbers for this model."""

    daily_cap: int
    small_buffer: int
    unknown: str  # what holds when nothing is known: close or hold


class Grounds(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything behind a decision that the decision itself does not say."""

    terms: Terms
    lag: LagBound
    when: str = ""  # the condition of the rule that decided
    readings: tuple[Said, ...] = ()  # in order of time
    others: int = 0  # readings kept beside these, which move neither end
    believed_from: Millis = 0  # older readings no longer count for the low end
    remembered: Remembered | None = None
    moves: tuple[Moved, ...] = ()
    expired: tuple[Expired, ...] = ()
    share: float = 0.0  # of usage that passes no meter, learned from losses
    losses: int = 0  # remembered
    why: str = ""  # of an unknown low end
    stale: bool = False
    since: Millis | None = None  # usage is metered without a gap since
    complete_until: Millis | None = None  # all usage before has arrived
    balance: int | None = None  # of the newest reading; what the older formulas look at
    usage: int | None = None  # of the day, when it was taken
    reading_at: Millis | None = None
    yesterday: int | None = None  # used on the day before, if it was metered in full
    positions: dict[str, int] = {}  # usage partition -> how far it was read
