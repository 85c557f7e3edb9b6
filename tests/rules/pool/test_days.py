"""Days begin and end by the policy's zone, without any traffic, and C runs over midnight."""

from __future__ import annotations

from datetime import datetime

import pytest

from rules.calendar import Calendar
from rules.moment import HOUR, from_datetime


def at(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text))


def test_yesterdays_unsettled_usage_is_deducted_today(model) -> None:
    """The pool of the new day is what is left, whatever the balance still shows at midnight."""
    model.start("2026-08-12T12:00:00+08:00")
    model.use("2026-08-12T13:00:00+08:00", 100_000)
    model.use("2026-08-12T23:50:00+08:00", 60_000)
    model.read("00:05", 900_000)
    assert model.low <= 840_000 <= model.high
    model.read("00:25", 840_000)
    assert abs(model.low - 840_000) <= 150
    assert abs(model.high - 840_000) <= 150


def test_a_block_by_the_cap_ends_with_the_day_without_any_traffic(model) -> None:
    """Used counts from zero after midnight, and the limit with it."""
    model.start("2026-08-12T12:00:00+08:00")
    model.read("2026-08-12T20:00:00+08:00", 3_000_000)
    model.use("2026-08-12T21:30:00+08:00", 2_000_000)
    model.look("2026-08-12T21:31:00+08:00")
    used = model.metered.total - model.metered.day_base
    assert used >= model.limit().tokens
    model.look("00:00")
    assert model.metered.total - model.metered.day_base == 0
    model.read("00:31", 1_000_000)
    assert model.limit().tokens > 900_000


@pytest.mark.parametrize(
    ("zone", "starts", "before", "after"),
    [
        ("Asia/Shanghai", "00:00", "2026-08-13T23:59:59.999+08:00", "2026-08-14T00:00:00+08:00"),
        ("Asia/Tokyo", "00:00", "2026-08-13T23:59:59.999+09:00", "2026-08-14T00:00:00+09:00"),
        ("Asia/Shanghai", "17:00", "2026-08-14T16:59:59.999+08:00", "2026-08-14T17:00:00+08:00"),
        ("UTC", "00:00", "2026-08-13T23:59:59.999+00:00", "2026-08-14T00:00:00+00:00"),
    ],
)
def test_the_day_changes_at_its_own_start_in_its_own_zone(zone: str, starts: str, before: str, after: str) -> None:
    """Not at midnight UTC, and not hours late."""
    calendar = Calendar(zone, starts)
    assert (calendar.day(at(before)), calendar.day(at(after))) == ("2026-08-13", "2026-08-14")
    assert calendar.end("2026-08-13") == calendar.start("2026-08-14") == at(after)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_a_day_may_have_23_or_25_hours(day: str, hours: int) -> None:
    """Where the clocks change, in Amsterdam."""
    calendar = Calendar("Europe/Amsterdam")
    assert calendar.end(day) - calendar.start(day) == hours * HOUR
