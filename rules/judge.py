"""The judge of one partition of facts: it merges what it is told and rules on the scopes that were touched.

Rule 1: merging is a G-counter, so facts may come again, late or from a former owner.
Rule 2: rulings are functions of what was merged and of `now`; nothing here knows the time.
Rule 3: usage alone moves no bound. A scope is looked at anew for a reading, and whenever every scope is, which is how
        minutes and watermarks take effect; in between sums are compared with the limit as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from rules.account import Account
from rules.alerts import Alert
from rules.book import BookRow, ModelBook, Sight
from rules.day_book import DayBook
from rules.facts import Fact, Heard, Minutes, Partial, Scope, Watermark
from rules.grounds import Grounds
from rules.marks import Marks
from rules.moment import Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from rules.ruling import Ruling, changed

BOOK = "book|"

Stored = Partial | Minutes | Watermark


class Outcome(Struct):
    """A ruling that differs from the one before. `history`: it differs in more than what was used, and comes with the
    day's account."""

    ruling: Ruling
    alerts: list[Alert]
    history: bool
    account: Account | None = None
    sight: Sight | None = None  # what it was made from; to be looked at before anything else is applied
    closed: DayBook | None = None  # of the day before, now that all its usage has arrived


class Judge:
    """All scopes of one partition. `usage_partitions`: how many source partitions must vouch before usage is
    complete."""

    def __init__(self, policy: Policy, rulebook: Rulebook, usage_partitions: int) -> None:
        self.marks = Marks(usage_partitions)
        self.books: dict[Scope, ModelBook] = {}
        self._policy = policy
        self._rulebook = rulebook
        self._touched: set[Scope] = set()
        self._counted: set[Scope] = set()  # usage was added
        self._unkept: set[Scope] = set()  # ruled on since rows were last taken
        self._current: dict[Scope, Ruling] = {}
        self._rows: dict[str, Any] = {}
        self._stored: dict[Scope, bytes] = {}

    def restore(self, rows: Mapping[str, Any]) -> None:
        """Take up the rows of an earlier life."""
        for key, value in rows.items():
            if key.startswith(BOOK):
                scope = key.removeprefix(BOOK)
                self.books[scope] = ModelBook(scope, self._policy, msgspec.convert(value, BookRow))
        for key, value in rows.items():
            if not key.startswith(BOOK):
                self._merge(msgspec.convert(value, Stored))
        self._touched.update(self.books)

    def apply(self, fact: Fact) -> None:
        """Take a fact. What is old news changes nothing."""
        if isinstance(fact, Heard):
            if fact.scope.startswith("model:"):
                self._book(fact.scope).hear(fact)
                self._touched.add(fact.scope)
        elif self._merge(fact):
            self._rows[fact.key] = fact

    def rule(self, now: Millis, *, every: bool = False) -> list[Outcome]:
        """Rule on what was touched, or on every scope: time alone ages readings and changes days."""
        anew = set(self.books) if every else self._touched
        scopes = sorted(anew | self._counted)
        self._touched, self._counted = set(), set()
        found = (self._rule(self._book(scope), now, anew=scope in anew) for scope in scopes)
        return [outcome for outcome in found if outcome is not None]

    def ruling(self, scope: Scope) -> Ruling | None:
        """The ruling in force about a scope."""
        return self._current.get(scope)

    def current(self) -> list[Outcome]:
        """The rulings in force, as they were."""
        return [Outcome(self._current[scope], [], history=False) for scope in sorted(self._current)]

    def grounds(self, outcome: Outcome) -> Grounds | None:
        """What a fresh outcome stands on; None of a ruling that is only told again."""
        if outcome.sight is None:
            return None
        book = self.books[outcome.ruling.scope]
        return book.grounds(outcome.sight, outcome.ruling, self._rulebook, self.marks)

    def take_rows(self) -> dict[str, Any]:
        """The rows changed since the last call, good until the next fact; None for a row that may go."""
        for scope in self._unkept:
            self._keep(self.books[scope])
        rows, self._rows, self._unkept = self._rows, {}, set()
        return rows

    def _merge(self, fact: Stored) -> bool:
        if isinstance(fact, Watermark):
            return self.marks.merge(fact)
        book = self._book(fact.scope)
        if isinstance(fact, Partial):
            self._counted.add(fact.scope)
        return book.merge(fact)

    def _book(self, scope: Scope) -> ModelBook:
        book = self.books.get(scope)
        if book is None:
            book = self.books[scope] = ModelBook(scope, self._policy, BookRow())
        return book

    def _rule(self, book: ModelBook, now: Millis, *, anew: bool) -> Outcome | None:
        sight = None if anew else book.glance(now)
        if sight is None:
            self._rows.update(dict.fromkeys(book.tidy(now)))
            sight = book.look(now, self.marks)
        ruling = book.rule(sight, self._rulebook)
        alerts = book.announce(ruling, sight)
        before, self._current[book.scope] = self._current.get(book.scope), ruling
        book.turn(ruling, before)
        closed = book.close_day(sight)
        news = bool(alerts) or changed(before, ruling) or closed is not None
        history = news and book.enter(ruling)
        self._unkept.add(book.scope)
        if not news:
            return None
        return Outcome(ruling, alerts, history, book.account(sight) if history else None, sight, closed)

    def _keep(self, book: ModelBook) -> None:
        """Store a book's row if it changed; most rulings change `used` alone, which stands in the partials."""
        raw = msgspec.json.encode(book.stored())
        if raw != self._stored.get(book.scope):
            self._stored[book.scope] = raw
            self._rows[BOOK + book.scope] = msgspec.json.decode(raw)
