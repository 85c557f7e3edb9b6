"""The limit of a model today: the daily cap or what the formula allows, whichever is lower, and which it was."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.formulas import FORMULAS, Inputs
from rules.policy import ModelTerms
from rules.pool_state import Bounds, Metered


class Wall(StrEnum):
    """What bounds the limit. Beyond the cap nothing is returned tomorrow; beyond the pool tokens are charged today."""

    POOL = "pool"
    CAP = "cap"
    UNKNOWN = ""


class Limit(Struct, frozen=True, kw_only=True):
    """`tokens` count from the start of the day; None is unknown."""

    tokens: int | None
    wall: Wall
    formula: str


def inputs_of(terms: ModelTerms, bounds: Bounds, metered: Metered) -> Inputs:
    """What formulas look at, on the scale of the accounting day."""
    return Inputs(
        pool_low=None if bounds.pool_low is None else max(0, bounds.pool_low - metered.day_base),
        small_buffer=terms.small_buffer,
        balance=bounds.balance,
        usage=bounds.usage,
        yesterday=metered.yesterday,
    )


def effective_limit(terms: ModelTerms, bounds: Bounds, metered: Metered, formula: str | None = None) -> Limit:
    """min(daily_cap, formula); `formula` overrides the one of the terms. Raises KeyError for a formula unknown."""
    name = formula or terms.formula
    found = FORMULAS[name].limit(inputs_of(terms, bounds, metered))
    if found is None:
        return Limit(tokens=None, wall=Wall.UNKNOWN, formula=name)
    if found <= terms.daily_cap:
        return Limit(tokens=found, wall=Wall.POOL, formula=name)
    return Limit(tokens=terms.daily_cap, wall=Wall.CAP, formula=name)
