"""A tenant's day as it is kept for 400 days: the sheets of all source partitions, merged."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rules.calendar import Calendar, Day
from rules.cells import Sheet, merged, shortened
from rules.facts import Scope
from rules.moment import Millis
from rules.records import Control, ControlAction
from rules.tenant_sheets import MOST_VALUES

Table = tuple[Day, str]
"""A day and a tenant."""

_unpack = msgspec.json.Decoder(Sheet).decode


class Part(Struct, tag="part", tag_field="type"):
    """One source partition's sheet of a tenant's day, up to and including `offset`."""

    tenant: str
    day: Day
    partition: int
    incarnation: int
    offset: int
    sheet: Sheet

    @property
    def key(self) -> str:
        return _key(self.partition, (self.day, self.tenant))


class Rollup(Struct, frozen=True, tag="rollup", tag_field="type"):
    """A tenant's day over all source partitions. `at`: when it was put together."""

    tenant: str
    day: Day
    at: Millis
    sheet: Sheet

    @property
    def key(self) -> str:
        return f"{self.day}|{self.tenant}"


class Packed(NamedTuple):
    """A part as it is held: encoded it takes a quarter of the room, and open days are rarely looked at."""

    reached: tuple[int, int]
    sheet: bytes


class Forgetting(Struct, frozen=True, kw_only=True):
    """A user's name that is to be forgotten on all days up to `day`. `done`: what was kept before is rewritten."""

    id: str
    tenant: str
    user: str
    pseudonym: str
    day: Day
    done: bool = False

    @property
    def key(self) -> str:
        return f"forget|{self.id}"


def forgetting(order: Control, calendar: Calendar) -> Forgetting | None:
    """What an order asks to forget; None if it names no user."""
    tenant, slash, user = order.scope.removeprefix("user:").partition("/")
    if order.action is not ControlAction.FORGET or not order.scope.startswith("user:") or not slash:
        return None
    digest = hashlib.sha256(f"{order.id}|{tenant}|{user}".encode()).hexdigest()[:10]
    return Forgetting(
        id=order.id, tenant=tenant, user=shortened(user), pseudonym=f"forgotten-{digest}", day=calendar.day(order.at)
    )


def tenant_of(scope: Scope) -> str:
    """The tenant in `user:<tenant>/<name>`."""
    return scope.partition(":")[2].partition("/")[0]


class Rollups:
    """The parts of open days, and what changed since rollups were made of them."""

    def __init__(self, most: int = MOST_VALUES, closed_before: Day = "") -> None:
        self.closed_before = closed_before
        self.forgettings: dict[str, Forgetting] = {}
        self._parts: dict[Table, dict[int, Packed]] = {}
        self._changed: set[Table] = set()
        self._due: dict[Table, None] = {}  # changed before the round under way began
        self._newest: Day = ""
        self._oldest: Day = ""  # or older, if days were let go since
        self._most = most

    def merge(self, part: Part) -> bool:
        """Take a part unless a later one of its source partition came first; says whether it was taken: the higher
        (incarnation, offset) wins."""
        if part.day < self.closed_before:
            return False
        parts = self._parts.setdefault((part.day, part.tenant), {})
        known, reached = parts.get(part.partition), (part.incarnation, part.offset)
        if known is not None and known.reached >= reached:
            return False
        parts[part.partition] = Packed(reached, msgspec.json.encode(part.sheet))
        self._changed.add((part.day, part.tenant))
        self._newest = max(self._newest, part.day)
        self._oldest = min(self._oldest or part.day, part.day)
        return True

    def forget(self, wish: Forgetting) -> bool:
        """Show a user under another name from now on; false if that was asked before."""
        if wish.id in self.forgettings:
            return False
        self.forgettings[wish.id] = wish
        self._changed.update(table for table in self._parts if table[1] == wish.tenant)
        return True

    def begin_round(self) -> None:
        """What has changed until now is due; one that was due already is not due twice."""
        self._due |= dict.fromkeys(sorted(self._changed))
        self._changed.clear()

    def take_due(self, now: Millis, most: int) -> list[Rollup]:
        """Up to so many of the tables that are due, as they are now."""
        taken = list(islice(self._due, most))
        for table in taken:
            del self._due[table]
        return [self._rolled_up(table, now) for table in taken]

    @property
    def is_due(self) -> bool:
        """Whether tables of the round are left."""
        return bool(self._due)

    @property
    def changed_count(self) -> int:
        """How many tables a round would begin with."""
        return len(self._changed)

    def drop_before(self, day: Day) -> list[str]:
        """Forget the parts of days that are over for good, and names that no part can bring again; the keys."""
        self.closed_before = max(self.closed_before, day)
        gone = self._over(day) if self._oldest < day else []
        keys = [_key(partition, table) for table in gone for partition in self._parts.pop(table)]
        over = min(day, self._oldest or day)  # a table that is yet to be told must not show the name again
        wishes = [wish for wish in self.forgettings.values() if wish.done and wish.day < over]
        for wish in wishes:
            del self.forgettings[wish.id]
        return keys + [wish.key for wish in wishes]

    def holds(self, rollup: Rollup) -> bool:
        """Whether its parts are here, so that it is made of them again whenever they change."""
        return (rollup.day, rollup.tenant) in self._parts

    def newest(self) -> Day:
        """The last day that has parts; empty without any."""
        return self._newest

    def pseudonymised(self, rollup: Rollup) -> Rollup:
        """As it is shown with all that is to be forgotten."""
        sheet = rollup.sheet
        for wish in self.forgettings.values():
            if wish.tenant == rollup.tenant and rollup.day <= wish.day:
                sheet = renamed(sheet, wish.user, wish.pseudonym)
        return rollup if sheet is rollup.sheet else replace(rollup, sheet=sheet)

    def _over(self, day: Day) -> list[Table]:
        """Tables of days before this one. Those that are yet to be told are left for the next time."""
        kept = {table for table in self._parts if table[0] >= day or table in self._changed or table in self._due}
        self._oldest = min((of for of, _ in kept), default="")
        return [table for table in self._parts if table not in kept]

    def _rolled_up(self, table: Table, now: Millis) -> Rollup:
        sheets = (_unpack(part.sheet) for part in self._parts[table].values())
        return self.pseudonymised(Rollup(table[1], table[0], now, merged(sheets, self._most)))


def _key(partition: int, table: Table) -> str:
    return f"part|{partition}|{table[0]}|{table[1]}"


def renamed(sheet: Sheet, user: str, pseudonym: str) -> Sheet:
    """The same sums with a user under another name; a pseudonym in use takes them in addition."""
    if user not in sheet.users:
        return sheet
    users = dict(sheet.users)
    cell, known = users.pop(user), users.get(pseudonym)
    users[pseudonym] = cell if known is None else [own + more for own, more in zip(cell, known, strict=True)]
    return Sheet(sheet.models, sheet.departments, users, sheet.knowledge_bases, sheet.other, sheet.guarded)
