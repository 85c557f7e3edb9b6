"""The kinds of days the simulator knows: what the provider does, how much is used, and what holds of it."""

from __future__ import annotations

from msgspec import Struct

from rules.moment import HOUR, MINUTE, Millis


class Console(Struct, frozen=True, kw_only=True):
    """What an operator enters `day` days after the start: the pool that the day began with, and an error."""

    day: float
    error: int
    force: bool = False


class Kind(Struct, frozen=True, kw_only=True):
    """One kind of model. Spans are (least, most); amounts are tokens."""

    name: str
    says: str
    inside: bool = True  # whether the assumptions of the guarantee hold
    pool: int = 1_200_000  # what the model starts with
    demand: float = 0.6  # of a day, as a share of the pool
    bursts: int = 3  # a day: a quarter of an hour at many times the usual pace
    poll: tuple[Millis, Millis] = (6 * MINUTE, 15 * MINUTE)
    delay: tuple[Millis, Millis] = (4 * MINUTE, 10 * MINUTE)  # how old usage is when a batch settles it
    period: tuple[Millis, Millis] = (3 * MINUTE, 14 * MINUTE)  # between two batches
    returns: tuple[Millis, Millis] = (10 * MINUTE, 11 * HOUR)  # after the start of the day
    lists: bool = True  # whether readings carry package lists
    residual: int = 0  # readings are off by up to so many tokens
    ends: tuple[float, ...] = ()  # days after the start at which an extra package ends
    lists_ends: bool = True  # whether the list shows that package
    extra: float = 0.6  # size of such a package, as a share of the pool
    stall: tuple[float, float] | None = None  # days after the start: nothing is settled in between
    unmetered: float = 0.0  # of the tokens of each call, as a share of those metered
    lump: tuple[float, int] | None = None  # days after the start, tokens used at once beside the meters
    skew: Millis = 0  # usage is stamped so much later than it happens
    console: Console | None = None
    start_hour: float | None = None  # of the first day at which metering begins; None: well before it


INSIDE = (
    Kind(name="steady", says="a day like any other"),
    Kind(name="exhausted", says="demand three times the pool", pool=1_500_000, demand=3.0),
    Kind(name="bursty", says="150,000 tokens in 14 minutes, many times a day", pool=1_800_000, demand=2.0, bursts=14),
    Kind(name="residual", says="readings off by up to 135 tokens", residual=135, demand=1.2),
    Kind(name="unlisted", says="readings without package lists", lists=False, demand=1.2),
    Kind(name="expiring", says="packages end with tokens left", ends=(1.42, 2.6), extra=1.5),
    Kind(name="slow", says="a reading every half hour, settled up to 26 minutes behind", demand=1.2,
         poll=(25 * MINUTE, 35 * MINUTE), delay=(12 * MINUTE, 16 * MINUTE), period=(4 * MINUTE, 10 * MINUTE)),
    Kind(name="late", says="returns come at noon, the pool runs dry before", demand=1.6,
         returns=(10 * HOUR, 13 * HOUR)),
    Kind(name="cold", says="metering begins in the afternoon", demand=1.2, start_hour=13.0),
)  # fmt: skip

OUTSIDE = (
    Kind(name="stall-3h", says="nothing is settled for three hours", inside=False, stall=(1.42, 1.545), demand=1.2),
    Kind(name="lag-45", says="settled 45 minutes behind, D is 30", inside=False, demand=1.2,
         delay=(40 * MINUTE, 41 * MINUTE), period=(3 * MINUTE, 5 * MINUTE)),
    Kind(name="unlisted-end", says="a package ends with tokens left that no list showed", inside=False, demand=1.2,
         ends=(0.5,), lists_ends=False, extra=0.8),
    Kind(name="leak-5", says="5 % passes no meter", inside=False, unmetered=0.05, demand=1.2),
    Kind(name="leak-20", says="20 % passes no meter", inside=False, unmetered=0.20, demand=1.2),
    Kind(name="lump", says="150,000 used once beside the meters", inside=False, lump=(1.5, 150_000), demand=1.2),
    Kind(name="skew", says="gateways' clocks two minutes ahead", inside=False, skew=2 * MINUTE, demand=1.2),
    Kind(name="skew-behind", says="gateways' clocks two minutes behind", inside=False, skew=-2 * MINUTE, demand=1.2),
    Kind(name="high-console", says="a calibration 240,000 too high", inside=False, demand=0.9,
         console=Console(day=1.5, error=240_000)),
    Kind(name="low-console", says="a calibration 240,000 too low", inside=False, demand=0.9,
         console=Console(day=1.5, error=-240_000)),
    Kind(name="forced-console", says="a calibration 240,000 too high, by force", inside=False, demand=1.6,
         console=Console(day=1.7, error=240_000, force=True)),
)  # fmt: skip

KINDS = {kind.name: kind for kind in (*INSIDE, *OUTSIDE)}
