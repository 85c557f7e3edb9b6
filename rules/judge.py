"""The judge of one partition of facts: it merges what it is told and rules on the scopes that were touched.

Rule 1: merging is a G-counter, so facts may come again, late or from a former owner.
Rule 2: rulings are functions of what was merged and of `now`; nothing here knows the time.
Rule 3: what was merged and closed for good is of no use on the topic either: its keys are let go there, before the row
        that holds its sum is kept. What is told of it again, by a meter that starts, is let go again.
Rule 4: usage alone moves no bound. A scope is looked at anew for what is heard, and whenever every scope is, which is
        how minutes and watermarks take effect; in between sums are compared with the limit as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Any

import msgspec
from msgspec import Struct

from rules.book import ModelBook
from rules.facts import Charge, Fact, Heard, Partial, Scope, Stored, Tally, Watermark, kind_of, leaving
from rules.global_book import GlobalBook
from rules.marks import Marks
from rules.moment import Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.rulebook import Rulebook
from rules.ruling import Ruling
from rules.scope_book import Book, Situation
from rules.stored_rows import reading
from rules.switch_book import SwitchBook
from rules.tallies import Tallies
from rules.tenant_book import FAR, TenantBook

BOOK = "book|"
AT_REST = 2
"""So many rulings a scope may have at once after a rest, beside the one that its pace gives it."""
AT_ONCE = 500
"""So many books that were asleep are looked at in one round, so that names which callers make up delay nobody."""

KINDS: Mapping[str, Callable[[Scope, Policy, Any], Book]] = {
    "model": ModelBook.open,
    "tenant": TenantBook.open,
    "user": SwitchBook,
    "ip": SwitchBook,
    "global": GlobalBook,
}
"""How the book of each kind of scope is opened, from its stored row or (None) anew. What is heard of others binds
nobody."""


class Judge:
    """All scopes of one partition. `usage_partitions`: how many source partitions must vouch before usage is
    complete."""

    def __init__(self, policy: Policy, rulebook: Rulebook, usage_partitions: int) -> None:
        self.marks = Marks(usage_partitions)
        self.books: dict[Scope, Book] = {}
        self._policy = policy
        self._rulebook = rulebook
        self._named = policy.named()
        self._touched: set[Scope] = set()
        self._closed: list[Scope] = []
        self._gone: dict[str, None] = {}  # keys of facts that nobody needs any more
        self._latest: Millis = 0
        self._counted: set[Scope] = set()  # usage was added
        self._tallied: set[Scope] = set()  # usage was added that a judge may look at a second later
        self._paid: dict[Scope, Millis] = {}  # until when rulings on usage have used up their pace
        self._unkept: set[Scope] = set()  # ruled on since rows were last taken
        self._current: dict[Scope, Ruling] = {}
        self._rows: dict[str, Any] = {}
        self._stored: dict[Scope, bytes] = {}
        self._tallies = Tallies(policy)
        self._told: dict[Scope, dict[str, Charge]] = {}

    def restore(self, rows: Mapping[str, Any]) -> None:
        """Take up the rows of an earlier life."""
        for key, row in rows.items():
            if key.startswith(BOOK) and kind_of(scope := key.removeprefix(BOOK)) in KINDS:
                with reading(key):
                    self._open(scope, row)
        for key, row in rows.items():
            if not key.startswith(BOOK):
                with reading(key):
                    self._take_up(key, msgspec.convert(row, Stored))
        self._touched.update(self.books)

    def adopt(self, policy: Policy, rulebook: Rulebook) -> None:
        """Go on under this policy, with all that is known: every scope is ruled on anew."""
        self._policy, self._rulebook, self._named = policy, rulebook, policy.named()
        for book in self.books.values():
            book.adopt(policy)
        self._touched.update(self.books)

    def apply(self, fact: Fact) -> bool:
        """Take a fact; whether it was news. What is old news changes nothing."""
        if isinstance(fact, Heard):
            if kind_of(fact.scope) in KINDS:
                self._book(fact.scope).hear(fact)
                self._touched.add(fact.scope)
            return True
        news = self._merge(fact)
        if news:
            key = fact.key
            self._rows[key] = fact
            self._gone.pop(key, None)
        return news

    def rule(self, now: Millis, *, every: bool = False, pace: Millis = 0) -> list[Outcome]:
        """Rule on what was touched, or on every scope that time alone may change: it ages readings and changes days.

        Where only usage was added and the limit is far, rulings come at most every `pace` ms; then `is_waiting`.
        """
        if every:
            self._tidy_tallies(now)
            self._look_at_tallied()
            self._touched.update(scope for scope, book in self.books.items() if book.wakes <= now)
        anew, counted = self._touched, self._counted
        waiting = {scope for scope in counted - anew if self._may_wait(scope, now, pace)}
        self._touched, self._counted, self._latest = set(), waiting, now
        due = sorted(anew | counted - waiting)
        look, glance = (Situation(now, self.marks, self._rulebook, anew=each) for each in (True, False))
        outcomes = [self._rule(self._book(scope), look if scope in anew else glance) for scope in due]
        news = [outcome for outcome in outcomes if outcome is not None and (outcome.news or outcome.tells)]
        self._pay((scope for outcome in news if (scope := outcome.ruling.scope) not in anew), now, pace)
        return news

    @property
    def is_waiting(self) -> bool:
        """Whether scopes are left to be ruled on soon."""
        return bool(self._counted)

    def age(self, now: Millis) -> None:
        """Touch what time alone may have changed: all that is awake, and of those that slept the longest overdue."""
        self._tidy_tallies(now)
        self._look_at_tallied()
        if now < self._latest:  # the clock was set back: nobody is waited for that sleeps until then
            self._touched.update(self.books)
            return
        slept = []
        for scope, book in self.books.items():
            if not book.wakes:
                self._touched.add(scope)
            elif book.wakes <= now:
                slept.append((book.wakes, scope))
        self._touched.update(scope for _, scope in nsmallest(AT_ONCE, slept))

    def _may_wait(self, scope: Scope, now: Millis, pace: Millis) -> bool:
        """By the generic cell rate algorithm: whoever has rested may have a few rulings at once."""
        last, ahead = self._current.get(scope), self._paid.get(scope, now) - now
        if last is None or not AT_REST * pace < ahead <= (AT_REST + 1) * pace:  # farther only if the clock was set back
            return False
        return last.limit is None or last.used < FAR * last.limit

    def _pay(self, scopes: Iterable[Scope], now: Millis, pace: Millis) -> None:
        most = now + (AT_REST + 1) * pace  # whoever is near a limit may be ahead already
        if pace:
            self._paid |= {scope: min(max(now, self._paid.get(scope, now)) + pace, most) for scope in scopes}

    def _look_at_tallied(self) -> None:
        self._counted |= self._tallied
        self._tallied = set()

    def take_closed(self) -> list[Scope]:
        """The scopes whose books were closed since the last call: nothing is ruled about them any more."""
        closed, self._closed = self._closed, []
        return closed

    def take_gone(self) -> list[str]:
        """The keys that may leave the topic of facts since the last call: no fact under them bears on anything."""
        gone, self._gone = list(self._gone), {}
        return gone

    def attend(self, scope: Scope) -> None:
        """Rule on a scope even if nobody ever tells of it."""
        self._touched.add(scope)

    def ruling(self, scope: Scope) -> Ruling | None:
        """The ruling in force about a scope."""
        return self._current.get(scope)

    def current(self) -> list[Outcome]:
        """The rulings in force, as they were."""
        return [Outcome(self._current[scope], [], history=False) for scope in sorted(self._current)]

    def grounds(self, outcome: Outcome) -> Struct | None:
        """What a fresh outcome stands on; None of a ruling that is only told again."""
        return None if outcome.because is None else outcome.because()

    def models(self) -> dict[Scope, ModelBook]:
        """The books of models, for who looks into them."""
        return {scope: book for scope, book in self.books.items() if isinstance(book, ModelBook)}

    def take_rows(self) -> dict[str, Any]:
        """The rows changed since the last call, good until the next fact; None for a row that may go."""
        for scope in self._unkept:
            self._keep(self.books[scope])
        rows, self._rows, self._unkept = self._rows, {}, set()
        return rows

    def _take_up(self, key: str, fact: Stored) -> None:
        """A row of a book that is not worth one may go; one of a kind that is not known here is left alone."""
        if not self._merge(fact) and not isinstance(fact, Watermark | Tally) and kind_of(fact.scope) in KINDS:
            self._let_go([key])

    def _merge(self, fact: Stored) -> bool:
        if isinstance(fact, Partial):
            return self._count(fact)
        if isinstance(fact, Watermark):
            return self.marks.merge(fact)  # takes effect with the next tick
        if isinstance(fact, Tally):
            news = self._tallies.note(fact)
            taken = [self._merge(partial) for partial in news]  # each, whatever the first says
            return any(taken)
        if kind_of(fact.scope) not in KINDS:
            return False
        if isinstance(fact, Charge):
            self._touched.add(fact.scope)
        return self._book(fact.scope).merge(fact)

    def _count(self, partial: Partial) -> bool:
        scope = partial.scope
        book = self.books.get(scope)
        if book is None:
            if kind_of(scope) not in KINDS:
                return False
            if self._says_nothing(partial):
                self._gone[partial.key] = None
                return False
            book = self._open(scope, None)
        (self._tallied if isinstance(book, TenantBook) else self._counted).add(scope)
        return book.merge(partial)

    def _says_nothing(self, partial: Partial) -> bool:
        """Calls that used nothing of a model that nobody has named: failed ones, under any name."""
        return not (partial.sums.tokens or partial.seeds or partial.scope in self._named)

    def _book(self, scope: Scope) -> Book:
        book = self.books.get(scope)
        return self._open(scope, None) if book is None else book

    def _open(self, scope: Scope, row: Any) -> Book:
        book = self.books[scope] = KINDS[kind_of(scope)](scope, self._policy, row)
        return book

    def _rule(self, book: Book, situation: Situation) -> Outcome | None:
        scope, now = book.scope, situation.now
        if situation.anew:
            self._let_go(book.tidy(now))
            if scope not in self._named and book.is_over(min(now, self.marks.complete_until() or 0)):
                self._close(book)
                return None
            self._unkept.add(scope)
        before = self._current.get(scope)
        outcome = book.consider(situation, before)
        if outcome.ruling is before:  # it goes on as it is, and the book as well
            return None
        self._current[scope] = outcome.ruling
        outcome.tells = self._fresh(scope, outcome.tells)
        self._unkept.add(scope)
        return outcome

    def _tidy_tallies(self, now: Millis) -> None:
        """Let tallies of days go that take no usage any more, once the books hold their sums."""
        for tally in self._tallies.take_old(now):
            self._let_go([tally.key])
            for partial in tally.partials():
                book = self._book(partial.scope)
                if isinstance(book, TenantBook):
                    book.close_before(self._tallies.oldest(now), now)
                    self._unkept.add(book.scope)

    def _fresh(self, scope: Scope, told: Sequence[Charge]) -> list[Charge]:
        """Of what a book tells others, what they have not been told."""
        before, self._told[scope] = self._told.get(scope, {}), {fact.key: fact for fact in told}
        return [fact for fact in told if before.get(fact.key) != fact]

    def _close(self, book: Book) -> None:
        """Nobody has named it or used it for days: forget it. Used again, it begins anew."""
        scope = book.scope
        self._rows[BOOK + scope] = None
        self._let_go(book.keys())
        for kept in (self.books, self._current, self._stored, self._told, self._paid):
            kept.pop(scope, None)
        self._unkept.discard(scope)
        self._closed.append(scope)

    def _let_go(self, keys: Iterable[str]) -> None:
        """Rows of facts that bear on nothing any more."""
        rows: dict[str, None] = dict.fromkeys(keys)
        self._rows |= rows
        self._gone |= dict.fromkeys(leaving(rows, self._policy.calendar()))

    def _keep(self, book: Book) -> None:
        """Store a book's row if it changed; most rulings change `used` alone, which stands in the partials."""
        raw = msgspec.json.encode(book.stored())
        if raw != self._stored.get(book.scope):
            self._stored[book.scope] = raw
            self._rows[BOOK + book.scope] = msgspec.json.decode(raw)
