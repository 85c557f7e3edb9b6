"""Tenants' sheets, held in the library. What is not counted by the lot is counted here, with the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from struct import Struct
from typing import cast

import msgspec

from native.library import UNSIGNED, Handle, Numbers, Texts, cut, encoded
from rules.calendar import Day
from rules.calls import Call
from rules.cells import DIMENSIONS, WIDTH, Sheet, shortened
from rules.open_sheet import Kept, bucket_of, group_of
from rules.tenant_sheets import CROWD, Entry, Line, TenantSheets, line_of, shortened_tenant, written

_settled = Struct("3q6Q").iter_unpack  # of each sheet that changed; sums have no sign


class NativeSheet(Kept):
    """One tenant's day as it was when it changed last."""

    __slots__ = ("_brief", "_cells", "_day", "_handle", "_place", "bucket", "group", "name")

    def __init__(self, handle: Handle, day: int, place: int, name: str) -> None:
        self.name = name
        self.group, self.bucket = group_of(name), bucket_of(name)
        self._cells = 0
        self._handle, self._day, self._place = handle, day, place
        self._brief: list[int] = []

    def change(self, cells: int, brief: list[int]) -> None:
        """Take up what the library says of it now."""
        self._cells, self._brief = cells, brief

    @property
    def cells(self) -> int:
        return self._cells

    def brief(self) -> list[int]:
        return self._brief

    def sheet(self) -> Sheet:
        """Encoded already: it can be told and stored, and nothing else."""
        self._handle.call("sheet", self._day, self._place)
        return cast("Sheet", msgspec.Raw(self._handle.text()))


class NativeSheets(TenantSheets):
    """All sheets of one source partition. `readopted`: called when models mean something else."""

    def __init__(self, handle: Handle, readopted: Callable[[], None], most_values: int, most_tenants: int) -> None:
        super().__init__(most_values=most_values, most_tenants=most_tenants)
        self._handle = handle
        self._readopted = readopted
        self._numbers: dict[Day, int] = {}
        self._texts: dict[int, Day] = {}
        self._places: dict[int, list[NativeSheet]] = {}
        self._kept: dict[Day, dict[str, Kept]] = {}
        self._slow: list[bytes] = []  # entries of the journal that the library has no part in

    def adopt(self, known: Iterable[str], guards: Iterable[str]) -> None:
        super().adopt(known, guards)
        self.readopt()

    def readopt(self) -> None:
        """Name everything anew."""
        self._handle.call("adopt", _texts(self._known), _texts(self._guards))
        self._readopted()

    def number_of(self, day: Day) -> int:
        """What the library calls a day."""
        number = self._numbers.get(day)
        if number is None:
            self._handle.call("begin_day", _texts([day]))
            (number,) = self._handle.numbers()
            self._numbers[day], self._texts[number], self._places[number] = number, day, []
        return number

    def fold(self, day: Day, model: str, calls: Sequence[Call]) -> None:
        lines = list(map(line_of, calls))
        moved = self._fold(day, shortened(model), lines, self._guards, own=False)
        told = [(CROWD if to_crowd else line[0], *line[1:]) for line, to_crowd in zip(lines, moved, strict=True)]
        self._slow = [*self.take_journal(), *written(day, shortened(model), self._guards, told)]

    def recount(self, entry: Entry) -> None:
        day, model, guards, lines = entry
        self._fold(day, model, lines, guards, own=True)

    def settle(self) -> dict[Day, dict[str, Kept]]:
        self._handle.call("settle")
        found = memoryview(self._handle.numbers()).cast("B")
        changed: dict[Day, dict[str, Kept]] = {}
        for number, of_day in groupby(_settled(found), key=itemgetter(0)):
            tenants = changed[self._texts[number]] = {}
            for _, place, cells, *brief in of_day:
                sheet = self._sheet_at(number, place)
                sheet.change(cells, brief)
                tenants[sheet.name] = sheet
        for day, tenants in changed.items():
            self._kept.setdefault(day, {}).update(tenants)
        return changed

    def kept(self) -> dict[Day, dict[str, Kept]]:
        return self._kept

    def restore(self, day: Day, tenant: str, seen: Sheet) -> None:
        values = [value for dimension in seen.dimensions for value in dimension]
        cells = [cell for dimension in seen.dimensions for cell in dimension.values()] + seen.other
        if len(seen.other) != len(DIMENSIONS) or any(len(cell) < WIDTH for cell in cells):
            raise ValueError("a sheet of another form")
        sums = Numbers.of([amount for cell in cells for amount in cell[:WIDTH]] + [seen.guarded], UNSIGNED)
        counts = Numbers.of(map(len, seen.dimensions))
        self._handle.call("restore", self.number_of(day), _texts([tenant, *values]), counts, sums)

    def take_journal(self) -> list[bytes]:
        self._handle.call("journal")
        ends, text = self._handle.numbers(), self._handle.text()
        entries = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
        slow, self._slow = self._slow, []
        return slow + entries

    def drop_before(self, day: Day) -> list[Day]:
        gone = [old for old in self._numbers if old < day]
        for old in gone:
            number = self._numbers.pop(old)
            self._handle.call("drop_day", number)
            del self._texts[number], self._places[number]
            self._kept.pop(old, None)
        self.crowded -= set(gone)
        return gone

    def _fold(self, day: Day, model: str, lines: Sequence[Line], guards: Iterable[str], *, own: bool) -> list[bool]:
        """Count lines; which of them went to the crowd."""
        guarding, names, amounts = frozenset(guards), [model], list[int]()
        for tenant, department, user, base, tokens, prompt, completion, cached, hit, source in lines:
            names += (shortened_tenant(tenant or ""), *(shortened(name or "") for name in (department, user, base)))
            amounts += tokens or 0, prompt or 0, completion or 0, cached or 0, bool(hit), source in guarding
        self._handle.call("fold", self.number_of(day), _texts(names), Numbers.of(amounts), own)
        *moved, crowded = self._handle.numbers()
        if crowded:
            self.crowded.add(day)
        return list(map(bool, moved))

    def _sheet_at(self, number: int, place: int) -> NativeSheet:
        sheets = self._places[number]
        if place >= len(sheets):
            self._handle.call("tenants", number, len(sheets))
            for name in cut(self._handle.text(), self._handle.numbers()):
                sheets.append(NativeSheet(self._handle, number, len(sheets), name))
        return sheets[place]


def _texts(names: Iterable[str]) -> Texts:
    return Texts.of([encoded(name) for name in names])
