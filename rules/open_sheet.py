"""A tenant's day while it is counted: the amounts of calls that are alike side by side in one integer.

So a call adds one number. What it adds to each dimension is found out for many calls at once, when the sheet is told.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Protocol

from rules.cells import LONGEST, UNASSIGNED, WIDTH, Cell, Sheet, shortened

# Lanes in the order of `AMOUNTS`. A sum stays below 2^64, as its JSON must anyway: the intake takes at most 10^12
# tokens a call, and a tenant has no 18 million of these a day.
LANE = 64
CALL, PROMPT, COMPLETION, CACHED = 1 << LANE, 2 * LANE, 3 * LANE, 4 * LANE
HIT, SAVED, GUARDED = (1 << 5 * LANE) + CALL, 6 * LANE, 7 * LANE
BUCKETS = 256

_BYTES = 8 * 8
_lanes = struct.Struct("<8Q")
_amounts = struct.Struct("<7Q8x").unpack  # without what is guarded

MOST_PENDING = 500
"""Kinds of calls that are kept apart. More of them are entered before the sheet's turn comes."""

Alike = tuple[str, str | None, str | None, str | None]
"""What calls that are alike have in common: a value in each dimension. None and "" are both unassigned."""


class Kept(Protocol):
    """What the keeping of a sheet needs, wherever its sums are held."""

    name: str
    group: int
    bucket: int

    @property
    def cells(self) -> int:
        """How many there are: what a row's size goes by."""

    def brief(self) -> list[int]:
        """What a budget and a digest need, in the order of `Tally`."""

    def sheet(self) -> Sheet:
        """The sums as they are now, to be told and stored."""


class OpenSheet:
    """The sums of one tenant and day. `bucket`: whose rows it shares; `group`: by which it finds its judge."""

    __slots__ = ("_dimensions", "_most", "_others", "bucket", "group", "name", "pending", "total")

    def __init__(self, name: str, most: Sequence[int], seen: Sheet | None = None) -> None:
        """`most`: values by dimension. `seen`: go on with a sheet as it was stored."""
        self.name = name
        self.group = group_of(name)
        self.bucket = bucket_of(name)
        self.total = 0
        self.pending: dict[Alike, int] = {}
        self._most = most
        self._dimensions: list[dict[str, int]] = [{}, {}, {}, {}]
        self._others = [0, 0, 0, 0]
        if seen is not None:
            self._dimensions = [{value: _joined(cell) for value, cell in values.items()} for values in seen.dimensions]
            self._others = [_joined(cell) for cell in seen.other]
            self.total = sum(self._dimensions[0].values()) + self._others[0] + (seen.guarded << GUARDED)

    @property
    def cells(self) -> int:
        """How many there are: what a row's size goes by."""
        self._enter()
        return sum(map(len, self._dimensions))

    def relieve(self) -> None:
        """Keep what is pending bounded."""
        if len(self.pending) > MOST_PENDING:
            self._enter()

    def brief(self) -> list[int]:
        """What a budget and a digest need, in the order of `Tally`."""
        self.relieve()
        tokens, requests, _, _, cached, hits, saved, guarded = _lanes.unpack(self.total.to_bytes(_BYTES, "little"))
        return [tokens, requests, cached, hits, guarded, saved]

    def sheet(self) -> Sheet:
        """The sums as they are now; shares nothing."""
        self._enter()
        models, departments, users, bases = (
            {value: _cell(amount) for value, amount in lanes.items()} for lanes in self._dimensions
        )
        others = [_cell(amount) for amount in self._others]
        return Sheet(models, departments, users, bases, others, self.total >> GUARDED)

    def _enter(self) -> None:
        """Add what is pending to its values, in the order in which they came."""
        for alike, amount in self.pending.items():
            for number, (lanes, value) in enumerate(zip(self._dimensions, alike, strict=True)):
                if value in lanes:
                    lanes[value] += amount
                else:
                    self._place(number, value or UNASSIGNED, amount)
        self.pending.clear()

    def _place(self, number: int, name: str, amount: int) -> None:
        """Add to a value that has no place under this name: it gets its own while there is room, else `other`."""
        lanes, value = self._dimensions[number], name if len(name) <= LONGEST else shortened(name)
        if value == UNASSIGNED or value in lanes or len(lanes) - (UNASSIGNED in lanes) < self._most[number]:
            lanes[value] = lanes.get(value, 0) + amount
        else:
            self._others[number] += amount


def bucket_of(tenant: str) -> int:
    """Tenants of a bucket share rows."""
    return (group_of(tenant) >> 16) % BUCKETS


def group_of(tenant: str) -> int:
    """By which a tenant finds its judge."""
    return zlib.crc32(f"tenant:{tenant}".encode())


def _joined(cell: Cell) -> int:
    return int.from_bytes(_lanes.pack(*cell[:WIDTH], 0), "little")


def _cell(amount: int) -> Cell:
    return [*_amounts(amount.to_bytes(_BYTES, "little"))]
