"""How many tokens of a model may be used up on purpose before packages expire: a plan, never a call.

    min(cap − used, pool_low − used − buffer − expected use until the return)

What is used comes back the next day up to the cap, so using up a package that is about to end loses nothing, as long as
the day's own users still have what they need until the return arrives.
"""

from __future__ import annotations

from msgspec import Struct

from rules.moment import DAY, HOUR, Millis
from rules.outlook import OVERDUE_AFTER, Unused

NEAR: Millis = 9 * DAY
"""Packages that end within this are worth using up; earlier, ordinary usage still may."""
OPEN = ("allow", "warn")


class Standing(Struct, frozen=True, kw_only=True):
    """What is decided about a model. Tokens count from the start of the day; None is unknown."""

    model: str
    action: str
    reason: str = ""
    cap: int
    buffer: int
    used: int | None
    pool_low: int | None
    yesterday: int | None = None
    expiring: tuple[Unused, ...] = ()  # packages that end with tokens left at the present rate


class Planned(Struct, frozen=True, kw_only=True):
    """What may be used up now. No tokens: `why` says what stands against it."""

    model: str
    tokens: int
    why: str
    expected: int = 0  # use until the return
    first_end: Millis | None = None  # of the packages that make it worth while
    at_stake: int = 0  # tokens that end within `NEAR` unused


def plan(standing: Standing, now: Millis, day_start: Millis, day_end: Millis, *, asked: bool) -> Planned:
    """The plan for one model. `asked`: also where nothing is about to expire. Whatever is unknown plans nothing."""
    near = [package for package in standing.expiring if package.expires - now <= NEAR]
    at_stake = sum(package.tokens for package in near)
    first = min((package.expires for package in near), default=None)

    def planned(tokens: int, why: str, expected: int = 0) -> Planned:
        return Planned(
            model=standing.model, tokens=tokens, why=why, expected=expected, first_end=first, at_stake=at_stake
        )

    if standing.action not in OPEN:
        return planned(0, f"calls are to be refused: {standing.reason or standing.action}")
    if standing.used is None or standing.pool_low is None:
        return planned(0, "the pool is not known")
    if not near and not asked:
        return planned(0, f"nothing ends unused within {NEAR // DAY} days")
    expected = expected_use(standing, now, day_start, day_end)
    room = standing.cap - standing.used
    left = standing.pool_low - standing.used - standing.buffer - expected
    tokens = max(0, min(room, left))
    if tokens == 0:
        return planned(
            0, "the daily cap is reached" if room <= 0 else "what is left is needed until the return", expected
        )
    return planned(tokens, "up to the daily cap" if room <= left else "up to what is needed until the return", expected)


def expected_use(standing: Standing, now: Millis, day_start: Millis, day_end: Millis) -> int:
    """What users will need until the return, at the latest time at which it usually has come: by the rhythm of today or
    of yesterday, whichever is more."""
    elapsed = max(HOUR, now - day_start)
    today = -(-(standing.used or 0) * (day_end - day_start) // elapsed)
    per_day = max(today, standing.yesterday or 0)
    return -(-per_day * (day_end + OVERDUE_AFTER - now) // DAY)
