"""What stands before the provider: gates that admit calls by one formula, fed with what they could have known."""

from __future__ import annotations

from typing import Protocol

from rules.account import Evening, account, evening_of
from rules.alerts import Kind
from rules.calendar import Calendar
from rules.calibration import calibrate
from rules.clocks import ClockWatch, apart, says
from rules.curve import Curve
from rules.formulas import FORMULAS, Inputs
from rules.ledger import Ledger
from rules.moment import MINUTE, Millis
from rules.policy import ModelTerms
from rules.pool import infer, observe
from rules.pool_state import Bounds, Metered, Notice, PoolState
from rules.records import Calibration, Reading
from rules.simulation.provider import Provider

EVERYTHING = 10**12
EVALUATED_EVERY: Millis = 5 * MINUTE  # between readings; a reading is looked at when it comes


class Gate(Protocol):
    """Admits calls and hears of readings. `room` is how many tokens a call may have now; None refuses all."""

    name: str

    def room(self, now: Millis) -> int | None: ...

    def count(self, at: Millis, tokens: int) -> None: ...

    def hear(self, reading: Reading) -> None: ...

    def turn_day(self, at: Millis) -> None: ...


class KnowingGate:
    """Sees the provider's true books: a new package, too, before any reading could show it."""

    name = "all-knowing"

    def __init__(self, provider: Provider, buffer: int = 0) -> None:
        self._provider, self._buffer = provider, buffer

    def room(self, now: Millis) -> int | None:
        return self._provider.remaining(now) - self._buffer

    def count(self, at: Millis, tokens: int) -> None:
        """Nothing to remember."""

    def hear(self, reading: Reading) -> None:
        """Nothing to learn."""

    def turn_day(self, at: Millis) -> None:
        """Nothing to reset."""


class ToldGate(KnowingGate):
    """Sees what is really left of every package that a reading has shown: the most that anybody can know."""

    name = "all-knowing, once told"

    def __init__(self, provider: Provider, since: Millis) -> None:
        super().__init__(provider)
        self._told = since

    def room(self, now: Millis) -> int | None:
        return self._provider.remaining(now, self._told)

    def hear(self, reading: Reading) -> None:
        self._told = reading.at


class FormulaGate:
    """A gate of old: balance and usage as of the last reading, usage counted from midnight."""

    def __init__(self, name: str, terms: ModelTerms, yesterday: int) -> None:
        self.name = name
        self._terms = terms
        self._used = 0
        self._given = Inputs(None, terms.small_buffer, None, None, yesterday)

    def room(self, now: Millis) -> int | None:  # noqa: ARG002
        limit = FORMULAS[self.name].limit(self._given)
        return None if limit is None else min(limit, self._terms.daily_cap) - self._used

    def count(self, at: Millis, tokens: int) -> None:  # noqa: ARG002
        self._used += tokens

    def hear(self, reading: Reading) -> None:
        self._given = self._given._replace(balance=reading.available, usage=self._used)

    def turn_day(self, at: Millis) -> None:  # noqa: ARG002
        self._given = self._given._replace(yesterday=self._used)
        self._used = 0


class IntervalGate:
    """Ours: the lower end of the pool, evaluated at each reading and every few minutes."""

    name = "interval"

    def __init__(self, terms: ModelTerms, calendar: Calendar, since: Millis, skew: Millis = 0) -> None:
        self.terms = terms
        self.state = PoolState()
        self.curve = Curve()
        self.notices: list[Notice] = []
        self.bounds: Bounds | None = None
        self._calendar, self._since, self._skew = calendar, since, skew
        self._watch = ClockWatch()
        self._evening: Evening | None = None
        self._day_base = 0
        self._yesterday: int | None = None
        self._evaluated: Millis = 0

    def room(self, now: Millis) -> int | None:
        if now - self._evaluated >= EVALUATED_EVERY or self.bounds is None:
            self.evaluate(now)
        low = self.bounds.pool_low if self.bounds is not None else None
        if low is None:
            return None
        limit = min(self._day_base + self.terms.daily_cap, low - self.terms.small_buffer)
        return limit - self.curve.total

    def count(self, at: Millis, tokens: int) -> None:
        stamp = at + self._skew
        self.curve.add(stamp, tokens)
        if ahead := apart(stamp, at):
            self._note_apart(ahead, at)

    def _note_apart(self, ahead: Millis, at: Millis) -> None:
        told = self._watch.apart(at)
        self._watch.note(ahead, at)
        if not told and self._watch.apart(at):
            self.notices.append(Notice(kind=Kind.CLOCKS_APART, at=at, reason=f"times of usage are {says(ahead)}"))

    def hear(self, reading: Reading) -> None:
        observe(self.state, reading, reading.at)
        self.evaluate(reading.at)

    def calibrate(self, calibration: Calibration) -> None:
        """Hear an operator."""
        at = calibration.at
        self.notices += calibrate(self.state, self.terms, self.metered(at), calibration, at)
        self.evaluate(at)

    def turn_day(self, at: Millis) -> None:
        whole = self._since <= at - 24 * 60 * MINUTE
        self._yesterday = self.curve.total - self._day_base if whole else None
        self._day_base = self.curve.total
        self._evening = None if self.bounds is None else evening_of(self._calendar.day(at - 1), self.bounds)
        self.evaluate(at)

    def ledger(self, now: Millis) -> Ledger | None:
        """The day's books, as of the last evaluation."""
        if self.bounds is None:
            return None
        return account(self.state, self.terms, self.metered(now), self.bounds, now, self._evening).ledger

    def metered(self, now: Millis) -> Metered:
        """Usage as this gate has it: nothing is late."""
        day = self._calendar.day(now)
        return Metered(
            curve=self.curve,
            complete_until=now,
            since=self._since,
            day=day,
            day_start=self._calendar.start(day),
            day_base=self._day_base,
            yesterday=self._yesterday,
        )

    def evaluate(self, now: Millis) -> None:
        """Look at the pool again."""
        self.curve.fold(now)
        self.bounds, notices = infer(self.state, self.terms, self.metered(now), now)
        self.notices += notices
        self._evaluated = now


class WatchingGate(IntervalGate):
    """The same with nobody heeding it: every call is let through, and what is charged is known by the bounds alone."""

    name = "watching"

    def room(self, now: Millis) -> int | None:
        super().room(now)
        return EVERYTHING
