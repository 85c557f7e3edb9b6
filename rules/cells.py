"""What is summed of usage by tenant and day, over models, departments, users and knowledge bases.

Every sum is absolute and only grows; those of different source partitions add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from operator import add

from msgspec import Struct

Cell = list[int]
"""The sums of one value, in the order of `AMOUNTS`."""

AMOUNTS = ("tokens", "requests", "prompt", "completion", "cached", "cache_hits", "saved")
"""`saved`: tokens of answers that a cache gave; `cached`: prompt tokens that the provider took from its own cache."""

WIDTH = len(AMOUNTS)

DIMENSIONS = ("model", "department", "user", "knowledge_base")

UNASSIGNED = ""
"""The value of what names none: always a value of its own, whatever the bounds."""

LONGEST = 64  # characters of a value's name
_KEPT = 51

Values = dict[str, Cell]


def _four() -> list[Cell]:
    return [[0] * WIDTH for _ in DIMENSIONS]


class Sheet(Struct, array_like=True):
    """A tenant's day: for each dimension its values, and in `other` what found no place among them."""

    models: Values = {}
    departments: Values = {}
    users: Values = {}
    knowledge_bases: Values = {}
    other: list[Cell] = []
    guarded: int = 0  # the part of the tokens that came from gateways declared `guard: true`

    @classmethod
    def empty(cls) -> Sheet:
        return cls({}, {}, {}, {}, _four())

    @property
    def dimensions(self) -> tuple[Values, Values, Values, Values]:
        """In the order of `DIMENSIONS`."""
        return self.models, self.departments, self.users, self.knowledge_bases

    def total(self, dimension: int = 0) -> Cell:
        """The sums over all values; the same for every dimension."""
        return add_up((*self.dimensions[dimension].values(), self.other[dimension]))


def add_up(cells: Iterable[Cell]) -> Cell:
    """Number by number."""
    return [sum(amounts) for amounts in zip([0] * WIDTH, *cells, strict=True)]


def merged(sheets: Iterable[Sheet], most: int) -> Sheet:
    """The sums of several source partitions, with at most `most` named values a dimension: the rest goes to `other`."""
    found = Sheet.empty()
    for sheet in sheets:
        for place, (own, others) in enumerate(zip(found.dimensions, sheet.dimensions, strict=True)):
            for value, cell in others.items():
                known = own.get(value)
                own[value] = cell[:WIDTH] if known is None else list(map(add, known, cell))
            if any(sheet.other[place]):
                found.other[place] = list(map(add, found.other[place], sheet.other[place]))
        found.guarded += sheet.guarded
    for place, values in enumerate(found.dimensions):
        for value in list(_beyond(values, most)):
            found.other[place] = add_up((found.other[place], values.pop(value)))
    return found


def shortened(name: str) -> str:
    """A name of bounded length: what is cut off is told apart by a hash."""
    if len(name) <= LONGEST:
        return name
    return f"{name[:_KEPT]}…{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _beyond(values: Values, most: int) -> Iterator[str]:
    """The names that are too many: those with the least tokens."""
    if len(values) <= most:
        return
    named = [value for value in values if value != UNASSIGNED]
    if len(named) > most:
        yield from sorted(named, key=lambda value: (-values[value][0], -values[value][1], value))[most:]
