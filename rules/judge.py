"""The judge of one partition of facts: it merges what it is told and rules on the scopes that were touched.

Rule 1: merging is a G-counter, so facts may come again, late or from a former owner.
Rule 2: rulings are functions of what was merged and of `now`; nothing here knows the time.
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
from rules.rounds import Rounds
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
        self._calendar = policy.calendar()
        self._named = policy.named()
        self._rounds = Rounds()
        self._closed: list[Scope] = []
        self._touched: set[Scope] = set()
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
            if not key.startswith(BOOK) and not self._merge(msgspec.convert(value, Stored)):
                self._rows[key] = None
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
        scopes = sorted(self.books if every else self._touched)
        self._touched.clear()
        return [outcome for scope in scopes if (outcome := self._rule(self._book(scope), now))]

    def age(self, now: Millis) -> None:
        """Touch what time alone may have changed since it was looked at."""
        self._touch_heard()
        self._touched.update(self._rounds.due(now, self._calendar.start(self._calendar.day(now))))

    def take_closed(self) -> list[Scope]:
        """The scopes whose books were closed since the last call: nothing is ruled about them any more."""
        closed, self._closed = self._closed, []
        return closed

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
        """The rows changed since the last call; None for a row that may go."""
        rows = {key: value if value is None else msgspec.to_builtins(value) for key, value in self._rows.items()}
        self._rows.clear()
        return rows

    def _merge(self, fact: Stored) -> bool:
        if isinstance(fact, Watermark):
            before = self.marks.complete_until(), self.marks.since()
            if not self.marks.merge(fact):
                return False
            if before != (self.marks.complete_until(), self.marks.since()):
                self._touch_heard()  # completeness bears on what readings say, and on nothing else that cannot wait
            return True
        if fact.scope not in self.books and not self._opens_book(fact):
            return False
        self._touched.add(fact.scope)
        return self._book(fact.scope).merge(fact)

    def _opens_book(self, fact: Partial | Minutes) -> bool:
        """Calls that used nothing, of a model that nobody has named, say nothing: failed ones, under any name."""
        return isinstance(fact, Minutes) or bool(fact.sums.tokens or fact.seeds) or fact.scope in self._named

    def _touch_heard(self) -> None:
        self._touched.update(scope for scope, book in self.books.items() if book.is_heard)

    def _book(self, scope: Scope) -> ModelBook:
        book = self.books.get(scope)
        if book is None:
            book = self.books[scope] = ModelBook(scope, self._policy, BookRow())
        return book

    def _rule(self, book: ModelBook, now: Millis) -> Outcome | None:
        self._rows.update(dict.fromkeys(book.tidy(now)))
        if book.scope not in self._named and book.is_over(min(now, self.marks.complete_until() or 0)):
            self._close(book)
            return None
        self._rounds.looked(book.scope, now)
        sight = book.look(now, self.marks)
        ruling = book.rule(sight, self._rulebook)
        alerts = book.announce(ruling, sight)
        before, self._current[book.scope] = self._current.get(book.scope), ruling
        book.turn(ruling, before)
        closed = book.close_day(sight)
        news = bool(alerts) or changed(before, ruling) or closed is not None
        history = news and book.enter(ruling)
        self._keep(book)
        if not news:
            return None
        return Outcome(ruling, alerts, history, book.account(sight) if history else None, sight, closed)

    def _close(self, book: ModelBook) -> None:
        """Nobody has named the model, read its balance or used it for days: forget it. Used again, it begins anew."""
        scope = book.scope
        self._rows.update(dict.fromkeys([BOOK + scope, *book.keys()]))
        for kept in (self.books, self._current, self._stored):
            kept.pop(scope, None)
        self._rounds.forget(scope)
        self._closed.append(scope)

    def _keep(self, book: ModelBook) -> None:
        """Store a book's row if it changed; most rulings change `used` alone, which stands in the partials."""
        raw = msgspec.json.encode(book.stored())
        if raw != self._stored.get(book.scope):
            self._stored[book.scope] = raw
            self._rows[BOOK + book.scope] = msgspec.json.decode(raw)
