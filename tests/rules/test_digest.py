"""The daily digest: when it goes out and what is in it."""

from __future__ import annotations

import pytest

from rules.alerts import Kind, Severity
from rules.calendar import Calendar
from rules.day_book import DayBook
from rules.digest import MOST, digest, due
from rules.moment import to_rfc3339


@pytest.mark.parametrize(
    ("zone", "starts", "day", "at", "expected"),
    [
        pytest.param(
            "Asia/Shanghai", "00:00", "2026-08-13", "09:05", "2026-08-14T09:05:00.000+08:00", id="the morning"
        ),
        pytest.param("Asia/Shanghai", "00:00", "2026-08-13", "00:00", "2026-08-14T00:00:00.000+08:00", id="at its end"),
        pytest.param("Asia/Shanghai", "06:00", "2026-08-13", "05:00", "2026-08-15T05:00:00.000+08:00", id="not before"),
        pytest.param("Asia/Shanghai", "06:00", "2026-08-13", "07:00", "2026-08-14T07:00:00.000+08:00", id="a late day"),
        pytest.param(
            "Europe/Amsterdam", "00:00", "2026-10-24", "09:05", "2026-10-25T09:05:00.000+01:00", id="25 hours"
        ),
    ],
)
def test_when_it_is_due(zone: str, starts: str, day: str, at: str, expected: str) -> None:
    """The first such time of day after the accounting day has ended, in the policy's zone."""
    calendar = Calendar(zone, starts)
    assert to_rfc3339(due(day, at, calendar), calendar.zone) == expected


def test_the_most_used_comes_first_and_the_id_is_the_day_s() -> None:
    """One per day, whoever makes it; of very many scopes the most used, and how many more there were."""
    books = [DayBook(scope=f"model:{number}", day="2026-08-13", used=number % 7) for number in range(MOST + 5)]
    first, again = digest("2026-08-13", books, 1), digest("2026-08-13", reversed(books), 2)
    assert first.id == again.id
    assert (first.kind, first.severity, first.scope, first.window) == (
        Kind.DIGEST, Severity.INFO, "global", "2026-08-13",
    )  # fmt: skip
    assert [book.used for book in first.books] == sorted((book.used for book in first.books), reverse=True)
    assert (first.books, first.details) == (again.books, {"more": "5"})
