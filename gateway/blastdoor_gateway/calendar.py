"""Accounting days and months in the configured zone, as the engine counts them: a day is named by the local date on
which it starts, a month by the days in it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

Millis = int
"""An instant (since 1970-01-01T00:00:00Z) or a length of time, in whole milliseconds."""

SECOND: Millis = 1_000
MINUTE: Millis = 60 * SECOND
HOUR: Millis = 60 * MINUTE


class Windows(NamedTuple):
    """The day and month around an instant, and when each ends."""

    yesterday: str
    day: str
    month: str
    day_starts: Millis
    day_ends: Millis
    month_ends: Millis


class Calendar:
    """Raises ZoneInfoNotFoundError for an unknown zone, ValueError for a start of day that is not `HH:MM`."""

    def __init__(self, zone: str = "Asia/Shanghai", day_starts: str = "00:00") -> None:
        self.zone: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
        self._starts = time.fromisoformat(day_starts)
        self._known: Windows | None = None

    def windows(self, at: Millis) -> Windows:
        """The day and month that `at` belongs to. The last answer is kept: most questions are about now."""
        known = self._known
        if known is None or not known.day_starts <= at < known.day_ends:
            known = self._known = self._look_up(at)
        return known

    def to_text(self, at: Millis) -> str:
        """The instant as RFC 3339 text with milliseconds and offset."""
        return datetime.fromtimestamp(at / 1000, self.zone).isoformat(timespec="milliseconds")

    def _look_up(self, at: Millis) -> Windows:
        local = datetime.fromtimestamp(at / 1000, self.zone).date()
        day = local if at >= self._start(local) else local - timedelta(days=1)
        after = day + timedelta(days=1)
        next_month = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
        return Windows(
            yesterday=(day - timedelta(days=1)).isoformat(),
            day=day.isoformat(),
            month=day.isoformat()[:7],
            day_starts=self._start(day),
            day_ends=self._start(after),
            month_ends=self._start(next_month),
        )

    def _start(self, day: date) -> Millis:
        return round(datetime.combine(day, self._starts, self.zone).timestamp() * 1000)


BEIJING = Calendar()
"""The days of `daily_usage` and `quota:tenant` keys: older gateways know no other zone."""
