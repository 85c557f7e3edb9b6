"""A tenant's day as it is kept for 400 days: the sheets of all source partitions, merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from rules.calendar import Day
from rules.cells import Sheet, merged
from rules.moment import Millis


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
        return f"{self.partition}|{self.day}|{self.tenant}"


class Rollup(Struct, frozen=True, tag="rollup", tag_field="type"):
    """A tenant's day over all source partitions. `at`: when it was put together."""

    tenant: str
    day: Day
    at: Millis
    sheet: Sheet

    @property
    def key(self) -> str:
        return f"{self.day}|{self.tenant}"


def later(known: Part | None, part: Part) -> bool:
    """Whether a part is news: the higher (incarnation, offset) of a source partition wins."""
    return known is None or (known.incarnation, known.offset) < (part.incarnation, part.offset)


def rolled_up(
    parts: Iterable[Part], at: Millis, most: int, forgotten: Mapping[str, str] = {}
) -> Rollup:  # of one tenant and day
    """The merged table. `forgotten`: users by the name under which they are shown."""
    parts = list(parts)
    sheet = merged((part.sheet for part in parts), most)
    for user, pseudonym in forgotten.items():
        sheet = renamed(sheet, user, pseudonym)
    return Rollup(parts[0].tenant, parts[0].day, at, sheet)


def renamed(sheet: Sheet, user: str, pseudonym: str) -> Sheet:
    """The same sums with a user under another name; a pseudonym in use takes them in addition."""
    if user not in sheet.users:
        return sheet
    users = dict(sheet.users)
    cell, known = users.pop(user), users.get(pseudonym)
    users[pseudonym] = cell if known is None else [own + more for own, more in zip(cell, known, strict=True)]
    return Sheet(sheet.models, sheet.departments, users, sheet.knowledge_bases, sheet.other, sheet.guarded)
