"""Usage of one source partition folded by tenant and day. Called with the calls that the meter has accepted: each once.

Rule 1: every dimension of a sheet adds up to the same total. What finds no place is counted in `other`, never dropped.
Rule 2: names are chosen by strangers. So values, tenants and the length of their names are bounded, and the first to
come keep their places: a sum never moves from a name to `other`, so that it only grows.
Rule 3: the hot path is `fold`. It gathers calls of the same names, as most follow others of their kind. What they come
to is added once for each flush, in `settle`, as one number per dimension: amounts side by side in lanes of 64 bits.
There names are bounded, too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from operator import add

from rules.calendar import Day
from rules.calls import Call
from rules.cells import UNASSIGNED, WIDTH, Cell, Sheet, shortened

MOST_VALUES = 200  # of a tenant, dimension and day
MOST_MODELS = 50
MOST_TENANTS = 10_000  # of a day; one whose name the policy holds has its place beyond them
LONGEST_TENANT = 200
MOST_HEAPS = 10_000  # of calls of the same names that wait for a flush
CROWD = "\N{HORIZONTAL ELLIPSIS}other"
"""The tenant of those that are too many."""

Parts = dict[Day, dict[str, Sheet]]
"""Sheets, or those of their cells that changed, by day and tenant."""

_Lanes = dict[str | None, int]

_Names = tuple[str, str | None, str | None, str | None, str | None]
"""Model, tenant, department, user, knowledge base."""

# An amount of all calls between two flushes is far below 2^64: the intake takes at most 10^12 tokens a call.
_LANE = 64
_LANES = 8
_BYTES = _LANES * 8
_layout = struct.Struct(f"<{_LANES}Q")
_together, _apart = _layout.pack, _layout.unpack
_GUARDED = 7 * _LANE  # before it the amounts of a cell, in their order


class TenantSheets:
    """All sheets of one source partition. `known`: tenants that the policy names."""

    def __init__(
        self,
        known: Iterable[str] = (),
        guards: Iterable[str] = (),
        most_values: int = MOST_VALUES,
        most_tenants: int = MOST_TENANTS,
    ) -> None:
        self.days: dict[Day, dict[str, Sheet]] = {}
        self._said: set[Day] = set()
        self.crowded: set[Day] = set()  # days with more tenants than there is room for
        self._known = frozenset(known)
        self._guards = frozenset(guards)
        self._most_values = (min(most_values, MOST_MODELS), most_values, most_values, most_values)
        self._most_tenants = most_tenants
        self.reached = (0, -1)  # incarnation, offset of the last record counted
        self._heaps: dict[Day, dict[_Names, list[int]]] = {}
        self._pending: dict[Day, dict[str | None, tuple[_Lanes, _Lanes, _Lanes, _Lanes]]] = {}

    def adopt(self, known: Iterable[str], guards: Iterable[str]) -> None:
        """Count what comes from now on under these names."""
        self._known, self._guards = frozenset(known), frozenset(guards)

    def fold(self, day: Day, model: str, calls: Sequence[Call]) -> None:
        """Count calls of one model on one day."""
        heaps = self._heaps.setdefault(day, {})
        guards = self._guards
        for call in calls:
            names = (model, call.tenant, call.department, call.user, call.knowledge_base)
            heap = heaps.get(names)
            if heap is None:
                heap = heaps[names] = [0] * _LANES
            tokens = call.total_tokens or 0
            heap[1] += 1
            if call.cache_hit:
                heap[5] += 1
                heap[6] += tokens
            else:
                heap[0] += tokens
                heap[2] += call.prompt_tokens or 0
                heap[3] += call.completion_tokens or 0
                heap[4] += call.cached_tokens or 0
                if call.source in guards:
                    heap[7] += tokens
        if len(heaps) > MOST_HEAPS:
            self._spread()

    def has(self, incarnation: int, offset: int) -> bool:
        """Whether the record at this offset was counted: reading a stretch of the log again changes nothing."""
        return (incarnation, offset) <= self.reached

    def settle(self) -> Parts:
        """Enter what was folded since the last call: the cells that changed. Their sums go on at the next call."""
        self._spread()
        pending, self._pending = self._pending, {}
        parts: Parts = {}
        for day, tenants in pending.items():
            for name, lanes in tenants.items():
                tenant, sheet = self._sheet(day, name or "")
                part = parts.setdefault(day, {}).setdefault(tenant, Sheet({}, {}, {}, {}, []))
                for number, values in enumerate(lanes):
                    self._enter(sheet, part, number, values)
                sheet.guarded += sum(amount >> _GUARDED for amount in lanes[0].values())
                part.guarded = sheet.guarded
        return parts

    def restore(self, day: Day, tenant: str, seen: Sheet) -> None:
        """Take up a sheet, or a part of one, as it was stored. The order does not matter."""
        self.days.setdefault(day, {}).setdefault(tenant, Sheet.empty()).rise(seen)

    def newly_crowded(self) -> list[Day]:
        """Days that have become so since the last call."""
        news = sorted(self.crowded - self._said)
        self._said |= self.crowded
        return news

    def drop_before(self, day: Day) -> list[Day]:
        """Forget the days that no call can reach any more."""
        gone = [old for old in self.days if old < day]
        for old in gone:
            del self.days[old]
        self.crowded -= set(gone)
        return gone

    def _spread(self) -> None:
        """Add what calls of the same names came to, to the lanes of each dimension."""
        for day, heaps in self._heaps.items():
            pending = self._pending.setdefault(day, {})
            for (model, tenant, *others), heap in heaps.items():
                lanes = pending.get(tenant)
                if lanes is None:
                    lanes = pending[tenant] = {}, {}, {}, {}
                amount = int.from_bytes(_together(*heap), "little")
                for values, name in zip(lanes, (model, *others), strict=True):
                    values[name] = values.get(name, 0) + amount
        self._heaps.clear()

    def _sheet(self, day: Day, tenant: str) -> tuple[str, Sheet]:
        sheets = self.days.setdefault(day, {})
        name = tenant if len(tenant) <= LONGEST_TENANT else shortened(tenant)
        if name not in sheets and len(sheets) >= self._most_tenants and name and name not in self._known:
            name = CROWD
            self.crowded.add(day)
        sheet = sheets.get(name)
        if sheet is None:
            sheet = sheets[name] = Sheet.empty()
        return name, sheet

    def _enter(self, sheet: Sheet, part: Sheet, number: int, values: _Lanes) -> None:
        """Add amounts to the cells of one dimension, and note the cells in `part`."""
        cells, changed = sheet.dimensions[number], part.dimensions[number]
        for name, amount in values.items():
            value: str | None = name or UNASSIGNED
            cell = cells.get(name or UNASSIGNED)
            if cell is None:
                value, cell = self._place(sheet, number, name or UNASSIGNED)
            cell[:] = map(add, cell, _apart(amount.to_bytes(_BYTES, "little")))
            if value is None:
                part.other = sheet.other
            else:
                changed[value] = cell

    def _place(self, sheet: Sheet, number: int, name: str) -> tuple[str | None, Cell]:
        """A cell for a value that has none under this name: its own while there is room, else `other`."""
        value, cells = shortened(name), sheet.dimensions[number]
        cell = cells.get(value)
        if cell is not None:
            return value, cell
        if value == UNASSIGNED or len(cells) - (UNASSIGNED in cells) < self._most_values[number]:
            cells[value] = [0] * WIDTH
            return value, cells[value]
        return None, sheet.other[number]
