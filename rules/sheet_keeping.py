"""What of a partition's tenant sheets is told and kept at each flush, so that neither grows with the number of names.

Rule 1: the rows of a flush, with those of all before, are the state at its position: a new owner goes on exactly.
Rule 2: sheets of many tenants share a row, and a row is written again when its turn comes: all within `ROUND` flushes.
What was counted meanwhile stands in notes, call by call, which go when the last sheet they speak of is written.
Rule 3: a sheet's row says up to which note it knows; of the later ones each call is counted again, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rules.calendar import Day
from rules.cells import UNASSIGNED, Sheet
from rules.facts import Tally
from rules.open_sheet import Kept, bucket_of
from rules.rollup import Part
from rules.stored_rows import reading
from rules.tenant_sheets import CROWD, Entry, TenantSheets

ROUND = 60
LEAST_CELLS = 200  # written with every flush at least: with fewer changes nothing ever waits
NOTED_A_CELL = 400  # bytes noted for which a cell more is written, so that what a new owner counts again stays small
ROW_CELLS = 600  # with names as long as they may be, some 200 KB
NOTE_BYTES = 128 * 1024
LARGE = 60  # cells; a sheet with more has a row of its own, for good
GROUPS = 128  # of tenants in one tally, about
REACHED_ROW = "reached"
SHEETS, NOTE = "sheets|", "note|"

NOBODYS = frozenset({UNASSIGNED, CROWD})
"""No budget is held against these."""

Bucket = tuple[Day, int]


class Telling(NamedTuple):
    """What a flush tells: the rows to keep (None: may go), the day's sums for the judges, sheets for the roll-ups."""

    rows: dict[str, Any]
    tallies: list[Tally]
    parts: list[Part]


class Waiting(NamedTuple):
    """A bucket that changed since it was written: from which note on, and whose sheets."""

    since: int
    tenants: set[str]


class SheetKeeper:
    """The keeping of one partition. `judges`: how many partitions of facts there are."""

    def __init__(self, partition: int, sheets: TenantSheets, judges: int) -> None:
        self.sheets = sheets
        sheets.take_journal()
        self._partition = partition
        self._groups = judges * -(-GROUPS // judges)
        self._waiting: dict[Bucket, Waiting] = {}  # the longest first
        self._number = 0  # of the last flush that had something to note
        self._notes: dict[int, list[str]] = {}  # stored, by number
        self._members: dict[Bucket, dict[str, Kept]] = {}
        self._stored: dict[Day, set[str]] = {}
        self._oldest: Day = ""
        self._sums: dict[tuple[Day, int], dict[str, list[int]]] = {}  # the content of tallies

    @staticmethod
    def owns(row: str) -> bool:
        """Whether a row is one of these."""
        return row == REACHED_ROW or row.startswith((SHEETS, NOTE))

    def restore(self, rows: Mapping[str, Any]) -> None:
        """Take up the rows of an earlier life. All counts as changed: the one before may have died before it told."""
        if REACHED_ROW in rows:
            with reading(REACHED_ROW):
                incarnation, offset, self._oldest = msgspec.convert(rows[REACHED_ROW], tuple[int, int, Day])
            self.sheets.reached = (incarnation, offset)
        known: dict[Bucket, int] = {}
        for name in rows:
            if name.startswith(SHEETS):
                with reading(name):
                    self._take(name, rows[name], known)
        notes = sorted((_place(name), name) for name in rows if name.startswith(NOTE))
        for (number, _), name in notes:
            self._notes.setdefault(number, []).append(name)
            with reading(name):
                for entry in msgspec.convert(rows[name], list[Entry]):
                    self._recount(entry, number, known)
        self._number = max([0, *known.values(), *self._notes])
        self.sheets.settle()
        for day, tenants in self.sheets.kept().items():
            self._note_change(day, tenants, since=0)

    def flush(self) -> Telling:
        """What changed since the last one; what waits longest is written first."""
        fresh, journal = self.sheets.settle(), self.sheets.take_journal()
        rows: dict[str, Any] = {}
        if fresh:
            self._number += 1
            rows[REACHED_ROW] = self._reached()
        for day, tenants in fresh.items():
            self._note_change(day, tenants, self._number)
        parts: list[Part] = []
        for bucket, waiting in self._due(sum(map(len, journal))):
            rows |= self._write(bucket, waiting.tenants, parts)
        if self._waiting and journal:
            rows |= self._noted(journal)
        return Telling(rows | self._superseded(), self._tallies(fresh), parts)

    def tell_all(self) -> list[Tally]:
        """The sums of all days, after a restart."""
        return [self._tally(*group) for group in sorted(self._sums)]

    def drop_before(self, day: Day) -> dict[str, Any]:
        """Forget days that no call can reach any more; the rows that change by it."""
        gone = self.sheets.drop_before(day)
        if not gone:
            return {}
        self._oldest = day  # notes may speak of what is gone
        self._waiting = {bucket: waiting for bucket, waiting in self._waiting.items() if bucket[0] not in gone}
        self._sums = {group: sums for group, sums in self._sums.items() if group[0] not in gone}
        self._members = {bucket: sheets for bucket, sheets in self._members.items() if bucket[0] not in gone}
        rows = dict.fromkeys(row for old in gone for row in sorted(self._stored.pop(old, ())))
        return {REACHED_ROW: self._reached()} | rows | self._superseded()

    def _reached(self) -> list[Any]:
        return [*self.sheets.reached, self._oldest]

    def _take(self, name: str, row: Any, known: dict[Bucket, int]) -> None:
        """A row of sheets. One of a sheet of its own may be older than the bucket's: it has not changed since."""
        _, day, bucket = name.split("|")[:3]
        number, sheets = msgspec.convert(row, tuple[int, dict[str, Sheet]])
        known[day, int(bucket)] = max(number, known.get((day, int(bucket)), 0))
        self._stored.setdefault(day, set()).add(name)
        for tenant, sheet in sheets.items():
            self.sheets.restore(day, tenant, sheet)

    def _recount(self, entry: Entry, number: int, known: Mapping[Bucket, int]) -> None:
        day, model, guards, lines = entry
        missing = [line for line in lines if known.get((day, bucket_of(line[0] or "")), 0) < number]
        if missing and day >= self._oldest:
            self.sheets.recount((day, model, guards, missing))

    def _note_change(self, day: Day, tenants: Mapping[str, Kept], since: int) -> None:
        for tenant, sheet in tenants.items():
            bucket = (day, sheet.bucket)
            waiting = self._waiting.get(bucket)
            if waiting is None:
                waiting = self._waiting[bucket] = Waiting(since, set())
            waiting.tenants.add(tenant)
            self._members.setdefault(bucket, {})[tenant] = sheet
            if tenant not in NOBODYS:
                self._sums.setdefault((day, sheet.group % self._groups), {})[tenant] = sheet.brief()

    def _due(self, noted: int) -> Iterator[tuple[Bucket, Waiting]]:
        least, cells, enough = -(-len(self._waiting) // ROUND), 0, max(LEAST_CELLS, noted // NOTED_A_CELL)
        while self._waiting and (least > 0 or cells < enough):
            bucket = next(iter(self._waiting))
            yield bucket, self._waiting.pop(bucket)
            least, cells = least - 1, cells + sum(sheet.cells for sheet in self._members[bucket].values())

    def _write(self, bucket: Bucket, changed: set[str], parts: list[Part]) -> dict[str, Any]:
        """Small sheets in one row while there is room in it, each other one in its own, if it changed."""
        day = bucket[0]
        name, stored = f"{SHEETS}{day}|{bucket[1]}", self._stored.setdefault(day, set())
        shared: dict[str, Sheet] = {}
        rows: dict[str, Any] = {name: (self._number, shared)}
        cells = 0
        for tenant, found in sorted(self._members[bucket].items()):
            own = f"{name}|{tenant}"
            alone = own in stored or found.cells > LARGE or cells + found.cells > ROW_CELLS
            if alone and own in stored and tenant not in changed:
                continue
            sheet = found.sheet()
            if tenant in changed:
                parts.append(Part(tenant, day, self._partition, *self.sheets.reached, sheet))
            if alone:
                rows[own] = (self._number, {tenant: sheet})
            else:
                shared[tenant] = sheet
                cells += found.cells
        stored.update(rows)
        return rows

    def _noted(self, journal: Sequence[bytes]) -> dict[str, Any]:
        """The journal of a flush in as many rows as it needs."""
        rows: dict[str, Any] = {}
        start = size = 0
        for at, entry in enumerate(journal):
            if size and size + len(entry) > NOTE_BYTES:
                rows[f"{NOTE}{self._number}|{len(rows)}"] = _joined(journal[start:at])
                start, size = at, 0
            size += len(entry)
        rows[f"{NOTE}{self._number}|{len(rows)}"] = _joined(journal[start:])
        self._notes[self._number] = list(rows)
        return rows

    def _superseded(self) -> dict[str, None]:
        """Notes of which every sheet has been written since."""
        oldest = next((waiting.since for waiting in self._waiting.values()), self._number + 1)
        gone = [number for number in self._notes if number < oldest]
        return dict.fromkeys(name for number in gone for name in self._notes.pop(number))

    def _tallies(self, fresh: Mapping[Day, Mapping[str, Kept]]) -> list[Tally]:
        groups = {(day, sheet.group % self._groups) for day, tenants in fresh.items() for sheet in tenants.values()}
        return [self._tally(*group) for group in sorted(groups & self._sums.keys())]

    def _tally(self, day: Day, group: int) -> Tally:
        incarnation, offset = self.sheets.reached
        return Tally(self._partition, day, group, incarnation, offset, self._sums[day, group])


def _place(note: str) -> tuple[int, int]:
    number, row = note.removeprefix(NOTE).split("|")
    return int(number), int(row)


def _joined(entries: Sequence[bytes]) -> msgspec.Raw:
    return msgspec.Raw(b"[%b]" % b",".join(entries))
