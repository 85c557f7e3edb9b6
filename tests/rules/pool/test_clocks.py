"""Clocks that are apart: seen by comparing a record's time with its receipt, told once an episode."""

from __future__ import annotations

import msgspec
import pytest

from rules.clocks import TOLERANCE, ClockWatch, apart, says
from rules.moment import HOUR, MINUTE, SECOND
from rules.pool import observe
from rules.records import Reading

NOON = 1_786_593_600_000


@pytest.mark.parametrize("off", [0, SECOND, -SECOND, TOLERANCE, -TOLERANCE])
def test_what_no_bound_can_notice_is_within_the_tolerance(off: int) -> None:
    """A minute either way: usage is known by the minute."""
    assert apart(NOON + off, NOON) == 0


@pytest.mark.parametrize("off", [2 * MINUTE, -2 * MINUTE, TOLERANCE + 1])
def test_two_minutes_are_apart_either_way(off: int) -> None:
    """Ahead is positive, behind negative."""
    assert apart(NOON + off, NOON) == off


def seen(*samples: tuple[int, int], until: int = 0) -> list[int]:
    """At which minutes clocks count as apart, by samples (minute, ahead in minutes); the state goes through JSON."""
    watch, waiting, apart_at = ClockWatch(), dict(samples), []
    for minute in range(max(until, *waiting) + 1):
        now = NOON + minute * MINUTE
        if minute in waiting:
            watch.note(waiting[minute] * MINUTE, now)
        watch = msgspec.json.decode(msgspec.json.encode(watch), type=ClockWatch)
        apart_at += [minute] if watch.apart(now) else []
    return apart_at


def test_usage_ahead_of_its_receipt_counts_at_once() -> None:
    """Nothing comes before its time, so one sample is enough; an hour without another, and it is over."""
    assert seen((5, 2), until=100) == list(range(5, 66))


def test_usage_behind_counts_when_it_comes_again() -> None:
    """One record or two may have been held up; the third is no accident."""
    assert seen(*((minute, -2) for minute in range(10))) == list(range(2, 10))


def test_one_late_record_now_and_then_is_nothing() -> None:
    """Two hours apart they have nothing to do with each other."""
    assert seen(*((hour * 120, -2) for hour in range(6))) == []


def test_it_says_which_way_and_by_how_much() -> None:
    """A person must know which clock to look at."""
    assert says(2 * MINUTE).startswith("120 s ahead")
    assert says(-2 * MINUTE).startswith("120 s behind")


def hear(model, text: str, off: int) -> None:
    """A reading whose time is `off` ahead of its receipt at `text`."""
    received = model.at(text)
    observe(model.state, Reading(id=text, at=received + off, model="m", available=1_000_000, source="api"), received)
    model.look(text)


@pytest.fixture
def model(observed):
    found = observed()
    found.start("06:00")
    return found


@pytest.mark.parametrize(("off", "how"), [(2 * MINUTE, "120 s ahead"), (-2 * MINUTE, "120 s behind")])
def test_a_reading_that_is_apart_is_told_once_until_one_is_right(model, off: int, how: str) -> None:
    """Every reading of one poller is off, and one alert says so; after it was right, the next is news."""
    for text in ("09:00", "09:10", "09:20"):
        hear(model, text, off)
    assert model.kinds == ["clocks_apart"]
    assert how in model.notices[0].reason
    hear(model, "09:30", 0)
    hear(model, "09:40", off)
    assert model.kinds == ["clocks_apart"] * 2


def test_a_recording_says_nothing_of_receipts(model) -> None:
    """Its readings are heard without one: nothing is compared."""
    model.read("09:00", 1_000_000)
    assert model.kinds == []


def test_what_is_older_than_metering_was_sent_in_late(model) -> None:
    """A day's log shipped at the start of metering is no sign of a slow clock."""
    hear(model, "06:30", -HOUR)
    assert model.kinds == []


def test_a_repeated_reading_is_no_late_one(model) -> None:
    """The same file shipped again an hour later changes nothing."""
    hear(model, "09:00", 0)
    again = Reading(id="09:00", at=model.at("09:00"), model="m", available=1_000_000, source="api")
    observe(model.state, again, model.at("10:00"))
    model.look("10:00")
    assert model.kinds == []
