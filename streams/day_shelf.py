"""The books of days on their way into a digest: kept in rows of `notify` until it is time, and then told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rules.alerts import Alert
from rules.calendar import Calendar, Day
from rules.day_book import DayBook
from rules.digest import digest, due
from rules.moment import MINUTE, Millis
from rules.policy import Digest
from rules.stored_rows import reading

PREFIX = "day|"
SETTLED: Millis = MINUTE  # so long no more books came: those of other models may be under way
REMEMBERED = 32  # days whose digest was made: books that come later change nothing


class DayShelf:
    """Books by day. `terms` None: no digest is wanted. `clock` is wall time, also for recordings: people read digests
    today."""

    def __init__(self, terms: Digest | None, calendar: Calendar, clock: Callable[[], Millis]) -> None:
        self._terms = terms
        self._calendar = calendar
        self._clock = clock
        self._books: dict[Day, dict[str, DayBook]] = {}
        self._told: list[Day] = []
        self._last: Millis = clock()
        self._changed: dict[str, Any] = {}

    def adopt(self, terms: Digest | None) -> None:
        """Go on with these terms; without any nothing is told, and books that come are not kept."""
        self._terms = terms

    def begin(self, rows: Mapping[str, Any]) -> None:
        """Take up what an earlier owner kept."""
        self._books, self._told, self._changed, self._last = {}, [], {}, self._clock()
        for key, row in rows.items():
            if key.startswith(PREFIX):
                with reading(key):
                    self._put(msgspec.convert(row, DayBook))

    def hear(self, book: DayBook) -> None:
        """Books of a day that is over. The same again replaces them."""
        if self._terms is None or book.day in self._told:
            return
        self._last = self._clock()
        self._put(book)
        self._changed[book.key] = msgspec.to_builtins(book)

    def take(self) -> tuple[list[Alert], dict[str, Any]]:
        """The digests that are due, and the rows that changed; None for books that were told."""
        now = self._clock()
        alerts = []
        for day in [day for day in sorted(self._books) if self._is_time(day, now)]:
            books = self._books.pop(day).values()
            alerts.append(digest(day, books, now))
            self._told = [*self._told, day][-REMEMBERED:]
            self._changed |= {book.key: None for book in books}
        rows, self._changed = self._changed, {}
        return alerts, rows

    def _is_time(self, day: Day, now: Millis) -> bool:
        terms = self._terms
        return terms is not None and now >= due(day, terms.at, self._calendar) and now - self._last >= SETTLED

    def _put(self, book: DayBook) -> None:
        self._books.setdefault(book.day, {})[book.scope] = book
