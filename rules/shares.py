"""What tenants used on a day, in few numbers: the largest of them by name, and of each the largest values.

Nothing is lost: what has no name here is the difference to a total that is kept exactly. Usage only grows, so whoever
is among the largest now came there with the sheet that is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nlargest
from operator import itemgetter

from msgspec import Struct

from rules.calendar import Day
from rules.cells import DIMENSIONS, Sheet
from rules.rollup import Rollup

PLACES = 20
"""Tenants with a name, and values of each of their dimensions."""

DAYS = 2  # the newest: around a day change both are needed

Named = dict[str, int]
"""Tokens by value."""

_tokens: Callable[[tuple[str, int]], int] = itemgetter(1)


class Share(Struct, frozen=True):
    """What one tenant used. `values`, in the order of `DIMENSIONS`, are the largest; `models` is what it costs."""

    tokens: int
    values: tuple[Named, ...]
    models: Sheet


class DayShares:
    """The tenants of a day."""

    def __init__(self, places: int = PLACES) -> None:
        self.total = 0
        self.largest: dict[str, Share] = {}
        self._tokens: dict[str, int] = {}
        self._places = places

    def note(self, tenant: str, sheet: Sheet) -> None:
        """What the tenant used until now."""
        tokens = sheet.total()[0]
        self.total += tokens - self._tokens.get(tenant, 0)
        self._tokens[tenant] = tokens
        if tenant in self.largest or self._has_room(tokens):
            self.largest[tenant] = self._share(tokens, sheet)

    def _has_room(self, tokens: int) -> bool:
        """Whether somebody new with that much has a place; the one with the least leaves it."""
        if len(self.largest) < self._places:
            return True
        least = min(self.largest, key=self._tokens.__getitem__)
        if tokens <= self._tokens[least]:
            return False
        del self.largest[least]
        return True

    def _share(self, tokens: int, sheet: Sheet) -> Share:
        values = tuple(largest(((name, cell[0]) for name, cell in each.items()), self._places)
                       for each in sheet.dimensions)  # fmt: skip
        return Share(tokens, values, Sheet(sheet.models, other=sheet.other))


class Shares:
    """The newest days of a number of tenants."""

    def __init__(self, places: int = PLACES) -> None:
        self.days: dict[Day, DayShares] = {}
        self._places = places

    def note(self, rollup: Rollup) -> None:
        """A table as it is now; those of older days are of no interest."""
        if rollup.day not in self.days:
            self.days[rollup.day] = DayShares(self._places)
            for old in sorted(self.days)[:-DAYS]:
                del self.days[old]
        if (day := self.days.get(rollup.day)) is not None:
            day.note(rollup.tenant, rollup.sheet)


def largest(pairs: Iterable[tuple[str, int]], places: int) -> Named:
    """Those with the most tokens, as many as there are places."""
    return dict(nlargest(places, pairs, key=_tokens))


def together(days: Iterable[DayShares], places: int = PLACES) -> tuple[int, dict[str, Share]]:
    """The same day of different tenants as one: the total, and the largest of all of them."""
    total = 0
    shares: dict[str, Share] = {}
    for day in days:
        total += day.total
        shares |= day.largest
    named = largest(((tenant, share.tokens) for tenant, share in shares.items()), places)
    return total, {tenant: shares[tenant] for tenant in named}


def by_value(share: Share, dimension: str) -> Named:
    """The largest values of a dimension."""
    return share.values[DIMENSIONS.index(dimension)]
