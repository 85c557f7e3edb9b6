"""Ways to make a limit from a balance: ours, and those of the quota notes, kept to replay what they did.

A formula says how many tokens a day may use in total before the free pool is at its end. Every old one is right when
the balance is up to date; each has its own way of being wrong when it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

BLIND_BUFFER = 300_000  # of v2, v4 and v5: a guess at what may be used while the balance lags
SNAPSHOT_BUFFER = 50_000  # of v6: for expiry and a little unsettled usage
V3_FACTOR = 0.9


class Inputs(NamedTuple):
    """What a formula may look at, in tokens of the accounting day. None is unknown."""

    pool_low: int | None  # used so far today + surely remaining
    small_buffer: int
    balance: int | None  # of the newest reading
    usage: int | None  # of the day, when that reading was taken
    yesterday: int | None  # used on the day before


class Formula(NamedTuple):
    """A way to make a limit, where it comes from and what is wrong with it. `shows` is the sum as people write it."""

    name: str
    origin: str
    flaw: str
    limit: Callable[[Inputs], int | None]
    shows: str

    def sum(self, given: Inputs) -> str:
        """The sum with its numbers; empty where one is unknown."""
        return "" if self.limit(given) is None else self.shows.format(**given._asdict())


def interval(given: Inputs) -> int | None:
    """The lower end of the pool less a small buffer: no unsettled usage can push it into the charged zone."""
    return None if given.pool_low is None else max(0, given.pool_low - given.small_buffer)


def conserved_less_blind_buffer(given: Inputs) -> int | None:
    """usage + balance is the pool only once the balance has caught up; the buffer guesses by how much it has not."""
    if given.balance is None or given.usage is None:
        return None
    return max(0, given.usage + given.balance - BLIND_BUFFER)


def yesterdays_anchor(given: Inputs) -> int | None:
    """Takes a flow for a stock: who used little yesterday may use less today, and less again tomorrow."""
    return None if given.yesterday is None else int(given.yesterday * V3_FACTOR)


def frozen_balance(given: Inputs) -> int | None:
    """Takes what is left for what the day may use in total."""
    return None if given.balance is None else max(0, given.balance - BLIND_BUFFER)


def snapshot_offset(given: Inputs) -> int | None:
    """Balance and usage of the same instant: too high by all that was used but not yet settled then."""
    if given.balance is None or given.usage is None:
        return None
    return max(0, given.balance + given.usage - SNAPSHOT_BUFFER)


_CONSERVED = "{usage:,} + {balance:,} - 300,000"

FORMULAS: dict[str, Formula] = {
    formula.name: formula
    for formula in (
        Formula(
            "interval",
            "the two ends of the pool",
            "leaves unused what may not be there",
            interval,
            "{pool_low:,} - {small_buffer:,}",
        ),
        Formula(
            "v2", "quota notes §7.1", "a lag above 300,000 tokens is charged", conserved_less_blind_buffer, _CONSERVED
        ),
        Formula(
            "v3",
            "quota notes §7.2",
            "ninety per cent of yesterday, day after day",
            yesterdays_anchor,
            "{yesterday:,} x 0.9",
        ),
        Formula("v4", "quota notes §7.3", "blocks while free tokens are left", frozen_balance, "{balance:,} - 300,000"),
        Formula(
            "v5",
            "quota notes §7.5",
            "breaks through when busy, wastes 300,000 when quiet",
            conserved_less_blind_buffer,
            _CONSERVED,
        ),
        Formula(
            "v6",
            "quota notes §7.6",
            "a lag above 50,000 tokens is charged",
            snapshot_offset,
            "{balance:,} + {usage:,} - 50,000",
        ),
    )
}
