"""What is remembered of one model's pool between two evaluations, and what an evaluation says.

Amounts are tokens on the cumulative scale of `rules.curve`: the pool P = balance + C(settled) stays the same while
usage goes on, and changes only by arrivals, expiry and losses. The daily view subtracts C at the start of the day.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.alerts import Kind
from rules.calendar import Day
from rules.curve import Curve
from rules.moment import Millis
from rules.records import Package, Reading


class Metered(Struct, frozen=True, kw_only=True):
    """Usage of a model as metered when the pool is evaluated."""

    curve: Curve
    complete_until: Millis | None  # everything that ended before has arrived: the lowest watermark; None: not known
    since: Millis | None  # metering runs without a gap since; None: not known
    day: Day
    day_start: Millis
    day_base: int  # C at the start of the day
    yesterday: int | None = None  # used on the day before; None: not metered in full

    @property
    def total(self) -> int:
        """C(now)."""
        return self.curve.total


class Evidence(Struct, kw_only=True):
    """A reading as it bears on the pool: what was left at `at`, with usage settled up to `asked - D` at least."""

    id: str
    at: Millis
    asked: Millis
    balance: int  # without packages that were not valid
    source: str
    settled: Millis | None = None
    expiring: list[tuple[Millis, int]] = []  # (expires, available) of packages that end within a day
    since: Millis | None = None  # from when all usage is metered, as far as was known then
    count: int | None = None  # of a calibration: C(at), which is known exactly at the start of a day
    entered: Millis | None = None  # of a calibration: when it was given
    trusted: bool = False  # of a calibration: given with --force
    most: int | None = None  # of an empty pool: the low end before it without the seed, as C may hold charged tokens

    @property
    def seen(self) -> Millis:
        """From when it ages."""
        return self.at if self.entered is None else self.entered

    @property
    def exact(self) -> bool:
        """Whether it says up to when usage was settled."""
        return self.settled is not None or self.entered is not None


class Cause(StrEnum):
    """Why the pool changed."""

    RETURN = "return"  # a listed package
    FOUND = "found"  # a listed package that earlier lists should have shown
    RISE = "rise"  # a higher balance without a list
    UNSEEN = "unseen"  # an arrival only noticed by its contradiction
    LOSS = "loss"


class Change(Struct, frozen=True, kw_only=True):
    """The pool rose (or fell, negative) by `low` to `high` tokens; readings from `at` on show it."""

    cause: Cause
    at: Millis
    low: int
    high: int
    id: str = ""
    seen: Millis = 0
    came: Millis = 0  # of an arrival: usage from here on may have been taken from it
    charged_low: int = 0  # of an arrival: what had been charged of the day when it came
    charged_high: int = 0
    used: int | None = None  # C(at) as one number, once too old to be revised; without seed and late tokens


class Expired(Struct, frozen=True):
    """A listed package that ended at `at` with `least` to `most` tokens left in it."""

    id: str
    at: Millis
    least: int
    most: int


class Fold(Struct, frozen=True):
    """The best end that readings up to `at` gave, as one number."""

    value: int
    at: Millis
    id: str


class Loss(Struct, frozen=True):
    """About `size` tokens left the pool unmetered while `usage` tokens were metered."""

    at: Millis
    size: int
    usage: int


class Lag(Struct, frozen=True):
    """A lag bound learned at `at`, and the one before the episode that began at `since`. `needed`: when a reading was
    last settled longer ago than the policy's bound allows, though not longer than this one."""

    bound: Millis = 0
    at: Millis = 0
    since: Millis = 0
    before: Millis = 0
    needed: Millis = 0


class Sync(Struct, frozen=True):
    """The newest reading as a v6 gate snapshots it: the balance beside the day's usage at that time."""

    id: str
    at: Millis
    balance: int
    usage: int


class Stamp(Struct, frozen=True):
    """The time that the newest reading carried, and by how much it differed from its receipt."""

    at: Millis = 0
    apart: Millis = 0


class PoolState(Struct, kw_only=True):
    """Everything remembered of a pool. Small, and JSON as it stands."""

    pending: list[Reading] = []  # not all usage before them has arrived yet
    evidence: list[Evidence] = []  # in order of time
    sealed: Millis = 0  # time of the newest reading that has been tested
    vouched: Millis = 0  # when that reading was asked for: what had come to the pool by then is known
    anchor: Millis = 0  # older readings no longer count: the pool was started afresh
    opened: Millis = 0  # older readings no longer bound the high end
    top: Fold | None = None  # high end of readings no longer kept
    floor: Fold | None = None  # best low end since the anchor, for noticing losses
    changes: list[Change] = []
    grant: int = 0  # arrivals so far
    known: dict[str, Millis] = {}  # package id -> expires
    lists: dict[str, Millis] = {}  # source -> time of its last complete list
    packages: list[Package] = []  # of the newest complete list, those with tokens left
    listed_at: Millis = 0
    expired: list[Expired] = []
    lag: Lag = Lag()
    losses: list[Loss] = []
    sync: Sync | None = None
    stamp: Stamp = Stamp()
    told: dict[str, Millis] = {}  # standing conditions that were reported, and when


class Bounds(Struct, frozen=True, kw_only=True):
    """What is known of the pool now. None is unknown, never zero."""

    pool_low: int | None
    pool_high: int | None
    lag_bound: Millis  # D in force
    lag_tokens_low: int | None = None
    lag_tokens_high: int | None = None
    lag_seconds: float | None = None
    charged_low: int = 0  # of the day
    charged_high: int = 0
    complete: bool = False
    stale: bool = False
    why: str = ""  # of an unknown low end
    low_from: str = ""  # id of the reading that gave the end
    high_from: str = ""
    latest: str = ""
    balance: int | None = None  # of the newest reading, and the usage of its day then
    usage: int | None = None
    reading_at: Millis | None = None
    share: float = 0.0  # of usage that passes no meter, learned
    grant: int = 0

    @property
    def readings(self) -> tuple[str, ...]:
        """Ids of the readings that shaped the bounds, without repetition."""
        return tuple(dict.fromkeys(name for name in (self.low_from, self.high_from, self.latest) if name))


NO_POOL = Bounds(pool_low=None, pool_high=None, lag_bound=0)
"""Of a scope that has no pool."""


class Notice(Struct, frozen=True, kw_only=True):
    """Something a person should hear of, with the numbers behind it."""

    kind: Kind
    at: Millis
    reason: str
    numbers: dict[str, int] = {}
