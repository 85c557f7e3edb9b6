"""The accounting day: which day an instant belongs to, when that day began, when the next one begins.

A day is named by the local date on which it starts. `day_starts` moves the start away from midnight: with "17:00",
16:59 still belongs to the day before.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from rules.moment import HOUR, Millis, from_datetime, to_datetime

Day = str
"""An accounting day as `YYYY-MM-DD`."""


class Calendar:
    """Accounting days of one zone. Two calendars with the same arguments answer alike."""

    def __init__(self, zone: str = "Asia/Shanghai", day_starts: str = "00:00") -> None:
        """Raises ZoneInfoNotFoundError for an unknown zone, ValueError for a start that is not `HH:MM`."""
        self.zone: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
        self.starts = time.fromisoformat(day_starts)
        self._hour = lru_cache(maxsize=4096)(self._look_up)
        self.start = lru_cache(maxsize=64)(self._start)
        self.end = lru_cache(maxsize=64)(self._end)
        self.previous = lru_cache(maxsize=64)(self._previous)

    def day(self, at: Millis) -> Day:
        """The day that `at` belongs to."""
        change, _, before, after = self._hour(at // HOUR)
        return before if at < change else after

    def _end(self, day: Day) -> Millis:
        """The instant at which the next day begins."""
        return self.start((date.fromisoformat(day) + timedelta(days=1)).isoformat())

    def _previous(self, day: Day) -> Day:
        """The day before."""
        return (date.fromisoformat(day) - timedelta(days=1)).isoformat()

    def _start(self, day: Day) -> Millis:
        """The instant at which `day` begins (23 or 25 hours apart where the clocks change)."""
        return from_datetime(datetime.combine(date.fromisoformat(day), self.starts, self.zone))

    def _look_up(self, hour: int) -> tuple[Millis, Millis, Day, Day]:
        """Within one hour of the epoch at most one day change can fall: (change, end of hour, day before, day
        after)."""
        first, last = self._slow(hour * HOUR), self._slow((hour + 1) * HOUR - 1)
        change = self._start(last) if first != last else (hour + 1) * HOUR
        return change, (hour + 1) * HOUR, first, last

    def _slow(self, at: Millis) -> Day:
        local = to_datetime(at, self.zone)
        day = local.date().isoformat()
        return day if at >= self._start(day) else self.previous(day)


@lru_cache(maxsize=8)
def calendar_of(zone: str, day_starts: str) -> Calendar:
    """The same one for all who ask alike: it remembers what was looked up, which must not be kept once for each book of
    thousands."""
    return Calendar(zone, day_starts)
