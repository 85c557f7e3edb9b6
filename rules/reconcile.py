"""A day's bill against what was metered and what the ledger says: where they differ, and what that means.

What the provider counted and nobody metered should be what the ledger calls unexplained; what the provider charged
should lie between the ledger's two ends. Residuals are no difference: providers round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from rules.calendar import Day
from rules.ledger import Amount

LEAST, SHARE = 500, 0.0005  # of a day's tokens: below both a difference is a residual

Key = tuple[Day, str]
"""A day and a model."""


class Verdict(StrEnum):
    """What became of a day. Listed worst last."""

    AGREES = "agrees"
    EXPLAINED = "explained"  # the ledger had noticed what nobody metered
    OPEN = "open"  # the day is not over, or its end is not known
    NOT_BILLED = "not_billed"  # metered, and not on the bill
    OVERMETERED = "overmetered"  # metered more than was billed
    NOT_METERED = "not_metered"  # on the bill, and nothing was metered at all
    UNMETERED = "unmetered"  # billed more than was metered and noticed
    CHARGED = "charged"  # more was charged than the ledger thinks possible


FINE = frozenset({Verdict.AGREES, Verdict.EXPLAINED, Verdict.OPEN})


class Billed(Struct, frozen=True, kw_only=True):
    """What the provider says of a model's day. `charged` None: the bill does not tell."""

    tokens: int
    charged: int | None = None


class Booked(Struct, frozen=True, kw_only=True):
    """What our books say of it. `whole`: `used` is that of the whole day."""

    used: int
    charged: Amount = Amount(0, 0)
    unexplained: Amount = Amount(0, 0)
    whole: bool = True


class Comparison(Struct, frozen=True, kw_only=True):
    """One model's day. `difference`: billed more than metered."""

    day: Day
    model: str
    billed: Billed | None
    booked: Booked | None
    verdict: Verdict
    difference: int = 0


def reconcile(bill: Mapping[Key, Billed], books: Mapping[Key, Booked]) -> list[Comparison]:
    """Every day of either side, in order."""
    return [_compare(key, bill.get(key), books.get(key)) for key in sorted({*bill, *books})]


def _compare(key: Key, billed: Billed | None, booked: Booked | None) -> Comparison:
    difference = (billed.tokens if billed else 0) - (booked.used if booked else 0)
    return Comparison(
        day=key[0],
        model=key[1],
        billed=billed,
        booked=booked,
        verdict=_verdict(billed, booked, difference),
        difference=difference,
    )


def _verdict(billed: Billed | None, booked: Booked | None, difference: int) -> Verdict:
    if booked is None:
        return Verdict.NOT_METERED if billed and billed.tokens else Verdict.AGREES
    if not booked.whole:
        return Verdict.OPEN
    if billed is None:
        return Verdict.NOT_BILLED if booked.used else Verdict.AGREES
    return _both(billed, booked, difference)


def _both(billed: Billed, booked: Booked, difference: int) -> Verdict:
    residual = max(LEAST, round(SHARE * booked.used))
    if billed.charged is not None and billed.charged > booked.charged.high + residual:
        return Verdict.CHARGED
    if abs(difference) <= residual:
        return Verdict.AGREES
    if difference < 0:
        return Verdict.OVERMETERED
    return Verdict.EXPLAINED if difference <= booked.unexplained.high + residual else Verdict.UNMETERED


def worst(found: Iterable[Comparison]) -> Verdict:
    """Of all days."""
    order = list(Verdict)
    return max((each.verdict for each in found), key=order.index, default=Verdict.AGREES)
