"""What the owner of a partition has written to its changelog, and therefore has to write next.

See `rows` for the rules it keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from streams.delivery.rows import Place, Recovered, encode_row, place_key, row_key

Entry = tuple[bytes, bytes | None]
"""Key and value of a changelog record; None is a tombstone."""


class Page(NamedTuple):
    """One flush in writing: `entries` in the order in which they must reach the log, the place row last."""

    entries: list[Entry]
    slots: dict[str, int]
    deleted: list[str]


class Book:
    """The writing side of one owner. One flush at a time: `write`, wait for all acknowledgements, `close`."""

    def __init__(self, owner: str, recovered: Recovered) -> None:
        self.owner = owner
        self.flush = 0  # of the last finished flush
        self._copies: Mapping[str, Any] = recovered.values  # written anew with the first flush (rule 2)
        self._superseded = list(recovered.keys)  # removed with the flush after it
        self._slots: dict[str, int] = {}  # of the newest version of each row
        self._open: Page | None = None
        self._tombstones: list[bytes] = []

    @property
    def is_new(self) -> bool:
        """Nothing is written under this owner yet."""
        return self.flush == 0

    @property
    def unfinished(self) -> bool:
        """There is something to write even if nothing changes."""
        return self.is_new or bool(self._tombstones)

    @property
    def withdrawal(self) -> list[Entry]:
        """What makes all rows of this owner worth nothing."""
        return [(place_key(self.owner), None)]

    def write(self, rows: Mapping[str, Any], *, incarnation: int, position: int, record: str) -> Page:
        """The entries of the next flush."""
        flush = self.flush + 1
        entries: list[Entry] = [(key, None) for key in self._tombstones]
        slots: dict[str, int] = {}
        deleted: list[str] = []
        for name, value in {**self._copies, **rows}.items():
            if value is None and name not in self._slots:
                continue  # never stored under this owner: its absence says it
            slots[name] = 1 - self._slots.get(name, 1)
            entries.append((row_key(name, self.owner, slots[name]), encode_row(flush, value)))
            if value is None:
                deleted.append(name)
        place = Place(flush=flush, incarnation=incarnation, position=position, record=record)
        entries.append((place_key(self.owner), place.encode()))
        self._open = Page(entries, slots, deleted)
        return self._open

    def close(self) -> None:
        """The flush being written is acknowledged: what it supersedes may go."""
        page = self._open
        if page is None:
            msg = "no flush is being written"
            raise ValueError(msg)
        self._open = None
        self.flush += 1
        self._slots.update(page.slots)
        self._tombstones = self._superseded
        self._superseded, self._copies = [], {}
        for name in page.deleted:
            newest = self._slots.pop(name)
            # The older version first: while the mark stands, the row stays deleted.
            self._tombstones += [row_key(name, self.owner, 1 - newest), row_key(name, self.owner, newest)]


def value_of(raw: msgspec.Raw) -> Any:
    """A recovered row's value."""
    return msgspec.json.decode(raw)
