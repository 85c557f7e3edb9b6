"""Cumulative metered tokens of a model by minute: the C(t) that every bound is made of.

Minute sums are absolute and may come late, out of order and again. Old minutes are folded into hours and then into a
base, so the size is bounded and no token is ever lost. `ended_by` never says more than C(t) and serves low ends;
`begun_by` never says less and serves high ends.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from msgspec import Struct

from rules.moment import HOUR, MINUTE, Millis

HOURS_KEPT = 40  # before the minutes
KEEP: Millis = 8 * HOUR  # the default lag ceiling + 2 h


class Folded(Struct, kw_only=True):
    """What of a curve is not in its minutes: stored beside them. Pairs are (hour or minute of the epoch, tokens)."""

    first: int = 0  # minutes before this one are folded
    base: int = 0
    hours: list[tuple[int, int]] = []
    strays: list[tuple[int, int]] = []
    late: int = 0  # tokens folded whose minute was never learned


class Curve:
    """Usage of one model. `seed` is what was used before metering began; it counts as older than every minute."""

    def __init__(self, folded: Folded | None = None) -> None:
        kept = folded or Folded()
        self.seed = 0
        self.late = kept.late
        self._first = kept.first
        self._base = kept.base
        self._hours = dict(kept.hours)
        self._strays = dict(kept.strays)
        self._minutes: dict[int, int] = {}
        self._order: list[int] = []
        self._sums: list[int] = []
        self._older = self._base + sum(self._hours.values())

    def set(self, minute: int, tokens: int) -> None:
        """Set the absolute sum of a minute of the epoch; of a folded minute nothing is changed (see `count`)."""
        change = tokens - self._minutes.get(minute, 0)
        if minute < self._first or not change:
            return
        self._minutes[minute] = tokens
        if not self._order or minute > self._order[-1]:
            self._sums.append(self._placed + tokens)
            self._order.append(minute)
        elif minute == self._order[-1]:
            self._sums[-1] += change
        else:
            self._rebuild()

    def add(self, at: Millis, tokens: int) -> None:
        """Count usage that ended at `at`: for readers that see every event once and in no shards."""
        minute = at // MINUTE
        if minute < self._first:
            self._stray(self._order[-1] if self._order else self._first, tokens)
        else:
            self.set(minute, self._minutes.get(minute, 0) + tokens)

    def count(self, total: int, now: Millis) -> None:
        """Tell the exact total without the seed. What no minute explains has ended by `now`."""
        stray = total - self._placed - sum(self._strays.values())
        if stray > 0:
            self._stray(now // MINUTE, stray)
        while stray < 0 and self._strays:
            newest = max(self._strays)
            taken = min(self._strays[newest], -stray)
            self._strays[newest] -= taken
            stray += taken
            if not self._strays[newest]:
                del self._strays[newest]

    def fold(self, now: Millis, keep: Millis = KEEP) -> None:
        """Fold whole hours of minutes older than `keep`, and hours older than two days into the base."""
        first = (now - keep) // HOUR * (HOUR // MINUTE)
        if first <= self._first:
            return
        self._first = first
        for minute in [m for m in self._minutes if m < first]:
            hour = minute * MINUTE // HOUR
            self._hours[hour] = self._hours.get(hour, 0) + self._minutes.pop(minute)
        for minute in [m for m in self._strays if m < first]:
            hour, tokens = minute * MINUTE // HOUR, self._strays.pop(minute)
            self._hours[hour] = self._hours.get(hour, 0) + tokens
            self.late += tokens
        for hour in [h for h in self._hours if h < self._oldest]:
            self._base += self._hours.pop(hour)
        self._rebuild()

    @property
    def folded(self) -> Folded:
        """What to store; the minutes from `first` on are given to `set` again after reading it back."""
        return Folded(
            first=self._first,
            base=self._base,
            hours=sorted(self._hours.items()),
            strays=sorted(self._strays.items()),
            late=self.late,
        )

    @property
    def total(self) -> int:
        """Everything used so far, C(now)."""
        return self.seed + self._placed + (sum(self._strays.values()) if self._strays else 0)

    def ended_by(self, at: Millis) -> int:
        """Tokens of minutes that had ended at `at`: at most C(at)."""
        minute = at // MINUTE
        if minute < self._first:
            return self._hours_ended_by(at)
        index = bisect_right(self._order, minute - 1)
        strays = sum(tokens for seen, tokens in self._strays.items() if seen < minute) if self._strays else 0
        return self.seed + (self._sums[index - 1] if index else self._older) + strays

    def begun_by(self, at: Millis) -> int:
        """Tokens of minutes that had begun at `at`, and all whose minute is not known: at least C(at)."""
        minute = at // MINUTE
        strays = sum(self._strays.values()) if self._strays else 0
        if minute < self._first:
            return self._hours_begun_by(at) + strays
        index = bisect_right(self._order, minute)
        return self.seed + (self._sums[index - 1] if index else self._older) + strays

    def about(self, at: Millis) -> int:
        """C(at) if usage of its minute was spread evenly."""
        before, after = self.ended_by(at // MINUTE * MINUTE), self.begun_by(at)
        return before + (after - before) * (at % MINUTE) // MINUTE

    def reached(self, level: int) -> Millis | None:
        """The earliest instant at which C was `level`, interpolated within its minute; None before the minutes kept."""
        wanted = level - self.seed
        if wanted <= self._older or not self._order or wanted > self._sums[-1]:
            return None
        index = bisect_right(self._sums, wanted - 1)
        tokens = self._minutes[self._order[index]]
        inside = wanted - (self._sums[index] - tokens)
        return self._order[index] * MINUTE + MINUTE * inside // tokens

    @property
    def _placed(self) -> int:
        return self._sums[-1] if self._sums else self._older

    @property
    def _oldest(self) -> int:
        """The base is all that ended before this hour."""
        return self._first * MINUTE // HOUR - HOURS_KEPT

    def _stray(self, minute: int, tokens: int) -> None:
        self._strays[minute] = self._strays.get(minute, 0) + tokens

    def _rebuild(self) -> None:
        self._older = self._base + sum(self._hours.values())
        self._order = sorted(self._minutes)
        sums = accumulate((self._minutes[minute] for minute in self._order), initial=self._older)
        self._sums = list(sums)[1:]

    def _hours_ended_by(self, at: Millis) -> int:
        """Before the hours kept nothing is known, so nothing is said to have ended."""
        hour = at // HOUR
        if hour < self._oldest:
            return 0
        return self.seed + self._base + sum(tokens for kept, tokens in self._hours.items() if kept < hour)

    def _hours_begun_by(self, at: Millis) -> int:
        hour = at // HOUR
        return self.seed + self._base + self.late + sum(tokens for kept, tokens in self._hours.items() if kept <= hour)
