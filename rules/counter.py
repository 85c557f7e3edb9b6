"""A scope's total, merged from the partials of all source partitions: a G-counter, so order, repeats and replays
change nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rules.calendar import Day
from rules.facts import SEEDS_KEPT, Partial, Sums, Told

NEVER = Told(-1, 0, 0)


class Counter:
    """The partials of one scope. `carried` is the total of days closed for good, whose rows are gone."""

    def __init__(self, carried: int = 0, closed_before: Day = "") -> None:
        self.carried = carried
        self.closed_before = closed_before
        self.days: dict[Day, dict[int, Partial]] = {}

    def merge(self, partial: Partial) -> bool:
        """Take a partial unless a later one of its partition, or the closing of its day, came first; says whether it
        was taken. Of two with the same sums the later one has told more of the minutes."""
        if partial.day < self.closed_before:
            return False
        known = self.part(partial)
        if known is not None and _age(known) >= _age(partial):
            return False
        self.days.setdefault(partial.day, {})[partial.partition] = partial
        return True

    def part(self, partial: Partial) -> Partial | None:
        """What is known of the same day and source partition."""
        parts = self.days.get(partial.day)
        return None if parts is None else parts.get(partial.partition)

    def tokens(self, day: Day) -> int:
        """Tokens metered on `day`."""
        return sum([part.sums.tokens for part in self.days.get(day, {}).values()])

    def before(self, day: Day) -> int:
        """Tokens metered on all days before `day`, since the counter began, as far as their minutes are told."""
        return self.carried + sum(self.placed(other) for other in self.days if other < day)

    def total(self) -> int:
        """Tokens metered since the counter began, as far as their minutes are told."""
        return self.carried + sum(self.placed(day) for day in self.days)

    def placed(self, day: Day) -> int:
        """Tokens metered on `day`, as far as their minutes are told."""
        return sum([part.sums.tokens - part.unplaced for part in self.days.get(day, {}).values()])

    def guarded(self, day: Day) -> int:
        """The part of a day's tokens that guarding gateways reported."""
        return sum([part.sums.guarded for part in self.days.get(day, {}).values()])

    def seed(self, day: Day) -> int:
        """What gateways had counted on `day` before metering began."""
        return sum(self.starts(day).values())

    def is_seeded(self, day: Day) -> bool:
        """Whether any gateway told what it had counted on `day`."""
        return any(part.seeds for part in self.days.get(day, {}).values())

    def told(self, day: Day) -> dict[str, Told]:
        """What gateways say they counted on `day`, by key hash: the newest total that any partition saw, beside what
        all of them counted. Nothing if one has more keys than it keeps: it may have counted what others are told of."""
        parts = [part.told for part in self.days.get(day, {}).values()]
        found: dict[str, Told] = {}
        if any(len(told) >= SEEDS_KEPT for told in parts):
            return found
        for told in parts:
            for key_hash, each in told.items():
                known = found.get(key_hash, NEVER)
                newest = max(known, each, key=lambda one: (one.at, one.today))
                found[key_hash] = Told(newest.at, newest.today, known.counted + each.counted)
        return found

    def starts(self, day: Day) -> dict[str, int]:
        """What each gateway had counted on `day` at its first call that was metered: the smallest any partition saw."""
        starts: dict[str, int] = {}
        for part in self.days.get(day, {}).values():
            for key_hash, start in part.seeds.items():
                starts[key_hash] = min(start, starts.get(key_hash, start))
        return starts

    def keys(self) -> list[str]:
        """Of the partials of all days that are open."""
        return [part.key for parts in self.days.values() for part in parts.values()]

    def close_before(self, day: Day) -> list[Partial]:
        """Close all days before `day` for good and return their partials, whose rows may go."""
        gone = [part for old in sorted(self.days) if old < day for part in self.days.pop(old).values()]
        self.carried += sum(part.sums.tokens for part in gone)
        self.closed_before = max(self.closed_before, day)
        return gone


def _age(partial: Partial) -> tuple[int, int, int]:
    return partial.incarnation, partial.offset, -partial.unplaced


def add(sums: Iterable[Sums]) -> Sums:
    """Field by field."""
    total = Sums()
    for each in sums:
        for name in Sums.__struct_fields__:
            setattr(total, name, getattr(total, name) + getattr(each, name))
    return total
