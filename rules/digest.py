"""The daily digest: when it is due, and what is in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, time, timedelta

from rules.alerts import Alert, Kind, Severity, alert_id
from rules.calendar import Calendar, Day
from rules.day_book import DayBook
from rules.facts import GLOBAL
from rules.moment import Millis, from_datetime, to_datetime

MOST = 200  # scopes in one digest, models before tenants, the most used first


def due(day: Day, at: str, calendar: Calendar) -> Millis:
    """When the digest of an accounting day goes out: the first local `HH:MM` after its end."""
    end = to_datetime(calendar.end(day), calendar.zone)
    first = datetime.combine(end.date(), time.fromisoformat(at), calendar.zone)
    if first < end:
        first = datetime.combine(end.date() + timedelta(days=1), time.fromisoformat(at), calendar.zone)
    return from_datetime(first)


def digest(day: Day, books: Iterable[DayBook], now: Millis) -> Alert:
    """All that happened on a day, as one message to people."""
    ordered = sorted(books, key=lambda book: (book.scope.startswith("tenant:"), -book.used, book.scope))
    return Alert(
        id=alert_id(GLOBAL, day, Kind.DIGEST.value, 0),
        kind=Kind.DIGEST,
        severity=Severity.INFO,
        scope=GLOBAL,
        at=now,
        window=day,
        books=tuple(ordered[:MOST]),
        details={} if len(ordered) <= MOST else {"more": str(len(ordered) - MOST)},
    )
