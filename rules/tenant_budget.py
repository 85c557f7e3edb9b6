"""How much a tenant may use in a day and in a month: the budget, what an operator gave on top, and what is left of it.

Rule 1: windows are those of the calendar. A day begins where the policy says, a month with the first of its days.
Rule 2: what was given counts once. A top-up of a window ends with it; one that lasts until an instant is used up,
window after window, by what goes beyond the budget, the first to end first.
Rule 3: a limit is a sum of whole numbers that are stored: whoever asks again gets the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from msgspec import Struct

from rules.calendar import Calendar, Day
from rules.moment import Millis
from rules.policy import Budget

DAY, MONTH = "day", "month"


class Grant(Struct, frozen=True, kw_only=True):
    """Tokens an operator gave, or a daily budget in place of the policy's; `id` is that of the order."""

    id: str
    at: Millis
    tokens: int
    until: Millis | None = None  # of a top-up None: for the windows in which it was given; of a budget: until the next


class Window(NamedTuple):
    """A day or month, what was used in it and what may be; `limit` None: no end."""

    kind: str
    name: str  # 2026-08-13, 2026-08
    first: Day
    end: Millis
    used: int
    limit: int | None
    given: int = 0  # the part of the limit that an operator gave on top

    @property
    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.used


def month_of(day: Day) -> str:
    """The month that an accounting day belongs to."""
    return day[:7]


def next_month(month: str) -> str:
    """The one after it, over the end of a year."""
    return (date.fromisoformat(f"{month}-01") + timedelta(days=31)).isoformat()[:7]


def next_day(day: Day) -> Day:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def numbers(windows: tuple[Window, Window]) -> dict[str, int]:
    """What was used in each window and what may be: `day_used`, `day_limit`, …; a limit that there is not is absent."""
    used = {f"{window.kind}_used": window.used for window in windows}
    return used | {f"{window.kind}_limit": window.limit for window in windows if window.limit is not None}


class Allowance(NamedTuple):
    """All that a tenant's limits follow from. `used`: tokens by day, as far back as top-ups reach."""

    calendar: Calendar
    budget: Budget
    topups: Iterable[Grant]
    quotas: Iterable[Grant]
    used: Mapping[Day, int]

    def windows(self, now: Millis) -> tuple[Window, Window]:
        """The day and the month of an instant."""
        day = self.calendar.day(now)
        return self._window(_Days(self.calendar), day, now), self._window(_Months(self.calendar), month_of(day), now)

    def _window(self, kind: _Kind, name: str, now: Millis) -> Window:
        used, end = self._used(kind, name), kind.end(name)
        own = self._own(kind, min(now, end - 1))
        if own is None:
            return Window(kind.name, name, kind.first(name), end, used, None)
        given = self._topped_up(kind, name) + sum(
            left for grant, left in self._packs(kind, name) if grant.until is not None and grant.until > now
        )
        return Window(kind.name, name, kind.first(name), end, used, max(0, own + given), given)

    def _own(self, kind: _Kind, at: Millis) -> int | None:
        """The budget without top-ups that was in force at an instant."""
        if kind.name == MONTH:
            return self.budget.monthly_tokens
        valid = [quota for quota in self.quotas if quota.at <= at and (quota.until is None or quota.until > at)]
        newest = max(valid, key=lambda quota: (quota.at, quota.id), default=None)
        return self.budget.daily_tokens if newest is None else newest.tokens

    def _topped_up(self, kind: _Kind, name: str) -> int:
        return sum(each.tokens for each in self.topups if each.until is None and kind.of(each.at) == name)

    def _packs(self, kind: _Kind, name: str) -> Iterator[tuple[Grant, int]]:
        """Top-ups with an end, and what earlier windows left of each."""
        packs = sorted((each for each in self.topups if each.until is not None), key=lambda each: (each.until, each.id))
        left = {pack.id: pack.tokens for pack in packs}
        at = min((kind.of(pack.at) for pack in packs), default=name)
        while at < name:
            own = self._own(kind, kind.end(at) - 1)
            over = 0 if own is None else max(0, self._used(kind, at) - own - self._topped_up(kind, at))
            for pack in packs:
                if kind.of(pack.at) <= at and (pack.until or 0) > kind.start(at):
                    burnt = min(over, max(0, left[pack.id]))
                    left[pack.id] -= burnt
                    over -= burnt
            at = kind.after(at)
        return ((pack, left[pack.id]) for pack in packs if kind.of(pack.at) <= name)

    def _used(self, kind: _Kind, name: str) -> int:
        return sum(tokens for day, tokens in self.used.items() if kind.holds(name, day))


class _Kind:
    """Windows of one length."""

    name: str
    after: Callable[[str], str]

    def __init__(self, calendar: Calendar) -> None:
        self.calendar = calendar

    def of(self, at: Millis) -> str:
        raise NotImplementedError

    def first(self, name: str) -> Day:
        raise NotImplementedError

    def holds(self, name: str, day: Day) -> bool:
        raise NotImplementedError

    def start(self, name: str) -> Millis:
        return self.calendar.start(self.first(name))

    def end(self, name: str) -> Millis:
        return self.calendar.start(self.first(type(self).after(name)))


class _Days(_Kind):
    name = DAY
    after = staticmethod(next_day)

    def of(self, at: Millis) -> str:
        return self.calendar.day(at)

    def first(self, name: str) -> Day:
        return name

    def holds(self, name: str, day: Day) -> bool:
        return day == name


class _Months(_Kind):
    name = MONTH
    after = staticmethod(next_month)

    def of(self, at: Millis) -> str:
        return month_of(self.calendar.day(at))

    def first(self, name: str) -> Day:
        return f"{name}-01"

    def holds(self, name: str, day: Day) -> bool:
        return month_of(day) == name


def needed_from(calendar: Calendar, topups: Iterable[Grant], now: Millis) -> Day:
    """The first day whose usage still bears on a limit."""
    live = [each.at for each in topups if each.until is not None and each.until > now]
    return f"{min(month_of(calendar.day(at)) for at in (now, *live))}-01"


def in_force(topups: Iterable[Grant], calendar: Calendar, now: Millis) -> list[Grant]:
    """The top-ups that may still count: the others may be forgotten."""
    month = month_of(calendar.day(now))
    return [each for each in topups if (each.until or 0) > now or month_of(calendar.day(each.at)) >= month]
