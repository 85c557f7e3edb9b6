"""The accounting day."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.moment import DAY, HOUR, LATEST, from_datetime, to_datetime
from rules.policy import Policy

ZONES = st.sampled_from(["Asia/Shanghai", "Europe/Amsterdam", "America/New_York", "Asia/Kolkata", "UTC"])
STARTS = st.sampled_from(["00:00", "17:00", "23:30"])
INSTANTS = st.integers(1_600_000_000_000, LATEST - DAY)


@given(ZONES, STARTS, INSTANTS)
def test_an_instant_lies_within_its_day(zone: str, starts: str, at: int) -> None:
    """A day contains exactly the instants from its start to its end."""
    calendar = Calendar(zone, starts)
    day = calendar.day(at)
    assert calendar.start(day) <= at < calendar.end(day)


@given(ZONES, STARTS, INSTANTS)
def test_a_day_ends_where_the_next_begins(zone: str, starts: str, at: int) -> None:
    """Between two days there is neither gap nor overlap."""
    calendar = Calendar(zone, starts)
    day = calendar.day(at)
    following = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    assert calendar.day(calendar.end(day)) == following
    assert calendar.day(calendar.end(day) - 1) == day
    assert calendar.previous(following) == day


def test_shanghai_changes_day_at_its_own_midnight() -> None:
    """00:00 in Shanghai is 16:00 UTC of the day before."""
    assert to_datetime(Calendar("Asia/Shanghai").start("2026-08-13")).isoformat() == "2026-08-12T16:00:00+00:00"


def test_a_day_that_starts_at_five_is_named_by_its_start() -> None:
    """With `day_starts` 17:00, 16:59 still belongs to the day before."""
    calendar = Calendar("Asia/Shanghai", "17:00")
    five = calendar.start("2026-08-13")
    assert (calendar.day(five), calendar.day(five - 1)) == ("2026-08-13", "2026-08-12")


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_days_are_as_long_as_the_clocks_make_them(day: str, hours: int) -> None:
    """In Amsterdam a day has 23 or 25 hours when the clocks change."""
    calendar = Calendar("Europe/Amsterdam")
    assert calendar.end(day) - calendar.start(day) == hours * HOUR


def test_naive_times_are_refused() -> None:
    """A time without a zone is never guessed at."""
    with pytest.raises(ValueError, match="without a zone"):
        from_datetime(to_datetime(0).replace(tzinfo=None))


def test_all_who_ask_share_one_calendar() -> None:
    """It remembers the hours it was asked for: thousands of books, each with its own, would each remember them all."""
    assert Policy(timezone="UTC").calendar() is Policy(timezone="UTC").calendar()
    assert Policy(timezone="UTC").calendar() is not Policy(timezone="UTC", day_starts="17:00").calendar()
