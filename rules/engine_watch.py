"""The engine's own state as every judge sees it: how far usage is known, since when it should be known further, and
whether the times it carries fit its receipt."""

from __future__ import annotations

from msgspec import Struct, field

from rules.alerts import Alert, Kind, Severity
from rules.calendar import Calendar
from rules.clocks import ClockWatch, says
from rules.episodes import Condition, Episode
from rules.facts import Watermark
from rules.marks import Marks
from rules.moment import MINUTE, SECOND, Millis
from rules.own_alerts import tell
from rules.policy import Alerting

SCOPE = "engine"


class EngineRow(Struct, kw_only=True):
    """What was said of it. Stored, so a restart repeats nothing."""

    episodes: dict[str, Episode] = {}
    clocks: ClockWatch = field(default_factory=ClockWatch)


class EngineWatch:
    """Kept by the one judge that owns the scope `engine`. `started`: its judge has had time to catch up since then."""

    def __init__(self, alerting: Alerting, calendar: Calendar, started: Millis, row: EngineRow | None = None) -> None:
        self.row = row or EngineRow()
        self._alerting = alerting
        self._calendar = calendar
        self._started = started
        self._apart: list[Millis] = []

    def adopt(self, alerting: Alerting) -> None:
        """Go on with these terms."""
        self._alerting = alerting

    def hear(self, mark: Watermark) -> None:
        """A partition vouches, and says how times stood to their receipt."""
        if mark.apart:
            self._apart.append(mark.apart)

    def look(self, marks: Marks, now: Millis) -> tuple[list[Alert], bool]:
        """What is to be said now, and whether the row changed."""
        news = bool(self._apart)
        while self._apart:
            self.row.clocks.note(self._apart.pop(0), now)
        found = [behind(marks.complete_until(), self._started, now, self._alerting.watch.behind)]
        found.append(clocks_apart(self.row.clocks.apart(now)))
        holding = [condition for condition in found if condition is not None]
        alerts, self.row.episodes = tell(
            SCOPE, holding, self.row.episodes, self._calendar.day(now), now, self._alerting
        )
        return alerts, news or bool(alerts)


def clocks_apart(ahead: Millis) -> Condition | None:
    """Usage carries times that do not fit its receipt."""
    if not ahead:
        return None
    return Condition(
        what=Kind.CLOCKS_APART.value,
        kind=Kind.CLOCKS_APART,
        severity=Severity.WARNING,
        reason=f"times of usage are {says(ahead)}",
        details={"ahead_ms": str(ahead)},
    )


def behind(complete_until: Millis | None, started: Millis, now: Millis, most: Millis) -> Condition | None:
    """Usage is known only up to long ago, though there was time to read it. None known: a partition never vouched."""
    late = now - max(complete_until or 0, started)
    if late <= most:
        return None
    known = "not known at all" if complete_until is None else f"known up to {(now - complete_until) // MINUTE} min ago"
    return Condition(
        what=Kind.ENGINE_BEHIND.value,
        kind=Kind.ENGINE_BEHIND,
        severity=Severity.CRITICAL,
        reason=f"usage of all partitions is {known}: a step is behind, or a partition has no worker",
        details={} if complete_until is None else {"seconds": str((now - complete_until) // SECOND)},
    )
