"""What v6 gates have counted: the `daily_usage` keys of a day, found by a survey because nobody lists their hashes.

Between two surveys a sum may miss keys of hashes that are new. It is too low then, which only tightens a gate's limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from blastdoor_gateway.contract import Keys

from rules.calendar import Day
from streams.publish.link import Link

SCAN_COUNT = 1_000
"""Keys that Redis looks at in one step, well under a millisecond of its time."""

MANY = 200
"""A model with more hashes than this is added up at the survey; fewer are read at the very moment of writing."""

DAYS_KEPT = 2
"""A new day begins with the hashes of the one before, so its first numbers count from the first call on."""


class Found(NamedTuple):
    """Keys to be read with the write, and the sum of those that are too many for that."""

    keys: tuple[str, ...]
    tokens: int


class DailyUsage:
    """The hashes under which gates count, by day and model."""

    def __init__(self, link: Link, keys: Keys) -> None:
        self._link = link
        self._keys = keys
        self._hashes: dict[Day, dict[str, set[str]]] = {}
        self._sums: dict[tuple[Day, str], int] = {}
        self.surveyed = False

    async def survey(self, days: Collection[Day], models: Collection[str]) -> bool:
        """Look for the keys of `models` on `days`; says whether it found any that were not known."""
        before = {(day, model): len(found) for day, known in self._hashes.items() for model, found in known.items()}
        for day in sorted(days):
            self._hashes[day] = await self._scan(day, models)
            await self._add_up(day)
        for day in sorted(self._hashes)[:-DAYS_KEPT]:
            self._drop(day)
        first, self.surveyed = not self.surveyed, True
        return first or any(
            len(found) != before.get((day, model), 0)
            for day, known in self._hashes.items()
            for model, found in known.items()
        )

    def found(self, day: Day, model: str) -> Found | None:
        """What to add up for a model's day; None: it must be surveyed first."""
        if (day, model) in self._sums:
            return Found((), self._sums[day, model])
        today = self._hashes.get(day, {}).get(model, set())
        if len(today) > MANY:
            return None
        hashes = today.union(*(known.get(model, set()) for known in self._hashes.values()))
        if len(hashes) > MANY:
            hashes = today
        return Found(tuple(self._keys.daily_usage(day, model, name) for name in sorted(hashes)), 0)

    def distrust(self) -> None:
        """Redis may have lost counters: sums from before would be too high, and too high is dangerous."""
        self._sums.clear()

    async def _scan(self, day: Day, models: Collection[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        start, cursor = self._keys.daily_usages(day), 0
        while True:
            cursor, names = await self._link.scan(cursor, _literally(start) + "*", SCAN_COUNT)
            for name in names:
                model, _, key_hash = name.removeprefix(start).rpartition(":")
                if model in models:
                    found[model].add(key_hash)
            if cursor == 0:
                return dict(found)

    async def _add_up(self, day: Day) -> None:
        for model, hashes in self._hashes[day].items():
            self._sums.pop((day, model), None)
            if len(hashes) > MANY:
                names = [self._keys.daily_usage(day, model, name) for name in sorted(hashes)]
                self._sums[day, model] = await self._link.total(names)

    def _drop(self, day: Day) -> None:
        del self._hashes[day]
        self._sums = {key: tokens for key, tokens in self._sums.items() if key[0] != day}


def _literally(text: str) -> str:
    """A prefix is the operator's: its characters are no wildcards."""
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in text)
