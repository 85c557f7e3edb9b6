"""The tallies that a judge holds, until no usage of their day is accepted any more."""

from __future__ import annotations

from rules.calendar import Day
from rules.facts import Partial, Tally
from rules.moment import DAY, Millis
from rules.policy import Policy


class Tallies:
    """By key, the newest of each."""

    def __init__(self, policy: Policy) -> None:
        self._calendar = policy.calendar()
        self._open = policy.close_after_days + 1
        self._held: dict[str, Tally] = {}
        self._newest: Day = ""

    def note(self, tally: Tally) -> list[Partial]:
        """One more, or a later one of the same group; what it says beside the one held.

        Sums only grow, so a tenant whose sums are those of an earlier offset has used nothing in between.
        """
        known = self._held.get(tally.key)
        news = list(tally.partials(known.tenants if known is not None else {}))
        if known is None or (known.incarnation, known.offset) < (tally.incarnation, tally.offset):
            self._held[tally.key] = tally
        self._newest = max(self._newest, tally.day)
        return news

    def oldest(self, now: Millis) -> Day:
        """The first day that stays open. Our own clock alone closes none: it may have run ahead."""
        if not self._newest:
            return ""
        return self._calendar.day(min(now, self._calendar.end(self._newest)) - self._open * DAY)

    def take_old(self, now: Millis) -> list[Tally]:
        """Those of days that are closed; they are held no more."""
        oldest = self.oldest(now)
        gone = [key for key, tally in self._held.items() if tally.day < oldest]
        return [self._held.pop(key) for key in gone]
