"""What of a partition's tenant sheets is told and kept at each flush, so that neither grows with the number of names.

Rule 1: the rows of a flush, with those of all before, are the state at its position: a new owner goes on exactly.
Rule 2: sheets of many tenants share a row, and a row is written again when its turn comes: all within `ROUND` flushes.
What changed in the others meanwhile stands in notes, which go when the last sheet they speak of is written.
Rule 3: amounts only grow, so rows and notes are taken up in any order: the greater number holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rules.calendar import Day
from rules.cells import UNASSIGNED, Sheet
from rules.facts import Tally
from rules.rollup import Part
from rules.tenant_sheets import CROWD, Parts, TenantSheets

ROUND = 60
LEAST_CELLS = 8_000  # written with every flush at least: with fewer changes nothing ever waits
ROW_CELLS = 600  # with names as long as they may be, some 200 KB
LARGE = 60  # cells; a sheet with more has a row of its own
BUCKETS = 256
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


class SheetKeeper:
    """The keeping of one partition. `judges`: how many partitions of facts there are."""

    def __init__(self, partition: int, sheets: TenantSheets, judges: int) -> None:
        self.sheets = sheets
        self._partition = partition
        self._groups = judges * -(-GROUPS // judges)
        self._waiting: dict[Bucket, set[str]] = {}  # what changed since it was written, the longest first
        self._notes: dict[str, set[Bucket]] = {}  # what they speak of that is not written yet
        self._number = 0
        self._members: dict[Bucket, dict[str, Sheet]] = {}
        self._stored: dict[Day, set[str]] = {}
        self._sums: dict[tuple[Day, int], dict[str, list[int]]] = {}  # the content of tallies

    @staticmethod
    def owns(row: str) -> bool:
        """Whether a row is one of these."""
        return row == REACHED_ROW or row.startswith((SHEETS, NOTE))

    def restore(self, rows: Mapping[str, Any]) -> None:
        """Take up the rows of an earlier life. All counts as changed: the one before may have died before it told."""
        for name, row in rows.items():
            if name == REACHED_ROW:
                self.sheets.reached = (row[0], row[1])
            elif name.startswith(SHEETS):
                self._stored.setdefault(name.split("|")[1], set()).add(name)
                self._take({name.split("|")[1]: msgspec.convert(row, dict[str, Sheet])})
            elif name.startswith(NOTE):
                self._number = max(self._number, int(name.removeprefix(NOTE)))
                parts = msgspec.convert(row, Parts)
                self._take(parts)
                self._notes[name] = {(day, _bucket(tenant)) for day in parts for tenant in parts[day]}

    def flush(self) -> Telling:
        """What changed since the last one; what waits longest is written first."""
        incarnation, offset = self.sheets.reached
        fresh = self.sheets.settle()
        for day, parts in fresh.items():
            self._note_change(day, parts)
        groups = {
            (day, self._group(tenant)) for day, parts in fresh.items() for tenant in parts if tenant not in NOBODYS
        }
        rows: dict[str, Any] = {REACHED_ROW: [incarnation, offset]} if fresh else {}
        told = []
        for bucket, tenants in self._due():
            rows |= self._rows_of(bucket)
            told += [
                Part(tenant, bucket[0], self._partition, incarnation, offset, self.sheets.days[bucket[0]][tenant])
                for tenant in sorted(tenants)
            ]
        rows |= self._noted(fresh) | self._superseded()
        return Telling(rows, [self._tally(*group) for group in sorted(groups)], told)

    def tell_all(self) -> list[Tally]:
        """The sums of all days, after a restart."""
        return [self._tally(*group) for group in sorted(self._sums)]

    def drop_before(self, day: Day) -> dict[str, None]:
        """Forget days that no call can reach any more; the rows that may go."""
        gone = self.sheets.drop_before(day)
        self._waiting = {bucket: tenants for bucket, tenants in self._waiting.items() if bucket[0] not in gone}
        for speaks_of in self._notes.values():
            speaks_of -= {bucket for bucket in speaks_of if bucket[0] in gone}
        self._sums = {group: sums for group, sums in self._sums.items() if group[0] not in gone}
        self._members = {bucket: sheets for bucket, sheets in self._members.items() if bucket[0] not in gone}
        return {row: None for old in gone for row in sorted(self._stored.pop(old, ()))} | self._superseded()

    def _take(self, parts: Parts) -> None:
        for day, tenants in parts.items():
            for tenant, part in tenants.items():
                self.sheets.restore(day, tenant, part)
            self._note_change(day, tenants)

    def _note_change(self, day: Day, tenants: Mapping[str, Sheet]) -> None:
        for tenant in tenants:
            bucket, sheet = (day, _bucket(tenant)), self.sheets.days[day][tenant]
            self._members.setdefault(bucket, {})[tenant] = sheet
            self._waiting.setdefault(bucket, set()).add(tenant)
            if tenant not in NOBODYS:
                self._sums.setdefault((day, self._group(tenant)), {})[tenant] = _brief(sheet)

    def _due(self) -> Iterator[tuple[Bucket, set[str]]]:
        least, cells = -(-len(self._waiting) // ROUND), 0
        while self._waiting and (least > 0 or cells < LEAST_CELLS):
            bucket = next(iter(self._waiting))
            yield bucket, self._waiting.pop(bucket)
            for speaks_of in self._notes.values():
                speaks_of.discard(bucket)
            least, cells = least - 1, cells + self._cells_of(bucket)

    def _cells_of(self, bucket: Bucket) -> int:
        return sum(sheet.cells for sheet in self._members[bucket].values())

    def _rows_of(self, bucket: Bucket) -> dict[str, Any]:
        """Small sheets in one row while there is room in it, each other one in its own."""
        name = f"{SHEETS}{bucket[0]}|{bucket[1]}"
        rows: dict[str, Any] = {name: {}}
        cells = 0
        for tenant, sheet in sorted(self._members[bucket].items()):
            if sheet.cells > LARGE or cells + sheet.cells > ROW_CELLS:
                rows[f"{name}|{tenant}"] = {tenant: sheet}
            else:
                rows[name][tenant] = sheet
                cells += sheet.cells
        self._stored.setdefault(bucket[0], set()).update(rows)
        return rows

    def _noted(self, fresh: Parts) -> dict[str, Any]:
        """Notes of what changed and is not written in full with this flush."""
        rows: dict[str, Any] = {}
        note: Parts = {}
        cells = 0
        for day, parts in fresh.items():
            for tenant, part in parts.items():
                bucket = (day, _bucket(tenant))
                if bucket not in self._waiting:
                    continue
                if not rows or cells + part.cells > ROW_CELLS:
                    self._number += 1
                    name, note, cells = f"{NOTE}{self._number}", {}, 0
                    rows[name], self._notes[name] = note, set()
                note.setdefault(day, {})[tenant] = part
                self._notes[name].add(bucket)
                cells += part.cells
        return rows

    def _superseded(self) -> dict[str, None]:
        gone = [name for name, speaks_of in self._notes.items() if not speaks_of]
        for name in gone:
            del self._notes[name]
        return dict.fromkeys(gone)

    def _group(self, tenant: str) -> int:
        return zlib.crc32(f"tenant:{tenant}".encode()) % self._groups

    def _tally(self, day: Day, group: int) -> Tally:
        incarnation, offset = self.sheets.reached
        return Tally(self._partition, day, group, incarnation, offset, self._sums[day, group])


def _bucket(tenant: str) -> int:
    return zlib.crc32(tenant.encode()) % BUCKETS


def _brief(sheet: Sheet) -> list[int]:
    """What a budget and a digest need of a sheet, in the order of `Tally`."""
    tokens, requests, _, _, cached, hits, saved = sheet.total()
    return [tokens, requests, cached, hits, sheet.guarded, saved]
