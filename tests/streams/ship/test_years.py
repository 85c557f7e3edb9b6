"""Lines of a recording whose year is wrong."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.intake.reader import Intake
from rules.moment import DAY, HOUR, MINUTE
from rules.records import Clock, Reason, Rejected, Usage
from streams.ship.entries import entries
from streams.ship.event_clock import merged
from streams.ship.years import LEAP, Years

START = 1_786_590_480_000
YEAR = 365 * DAY


def usage(at: int) -> Usage:
    return Usage(id=f"u{at}", at=START + at, model="m", total_tokens=1)


def reasons(times: list[int], years: Years | None = None) -> list[Reason | None]:
    """Why each was refused; None: it was not."""
    found = (years or Years()).sift([usage(at) for at in times])
    return [each.reason if isinstance(each, Rejected) else None for each in found]


@pytest.mark.parametrize("place", [0, 1, 5, 9])
@pytest.mark.parametrize(
    ("years", "reason"),
    [(1, Reason.IN_FUTURE), (40, Reason.IN_FUTURE), (-1, Reason.BAD_TIME), (-20, Reason.BAD_TIME)],
)
def test_a_wrong_year_is_a_dead_letter_wherever_it_stands(place: int, years: int, reason: Reason) -> None:
    """At the beginning, in the middle and at the end; all other lines count."""
    times = [number * MINUTE for number in range(10)]
    times[place] += years * YEAR
    assert reasons(times) == [reason if number == place else None for number in range(10)]


def test_a_source_that_was_silent_for_a_year_goes_on() -> None:
    """The lines that follow agree, so the gap is one."""
    assert reasons([0, MINUTE, YEAR, YEAR + MINUTE, YEAR + HOUR]) == [None] * 5


def test_two_wrong_years_in_a_row_are_both_refused() -> None:
    """The lines around them are more."""
    found = reasons([0, YEAR, YEAR + MINUTE, MINUTE, 2 * MINUTE, 3 * MINUTE, 4 * MINUTE])
    assert found == [None, Reason.IN_FUTURE, Reason.IN_FUTURE, None, None, None, None]


def test_what_was_reached_is_kept_from_stretch_to_stretch() -> None:
    """A wrong line may be the first of what is read at once."""
    years = Years()
    assert reasons([0, MINUTE], years) == [None, None]
    assert reasons([YEAR, 2 * MINUTE, 3 * MINUTE], years) == [Reason.IN_FUTURE, None, None]
    assert reasons([-YEAR], years) == [Reason.BAD_TIME]


@given(st.lists(st.integers(0, LEAP), max_size=40))
def test_times_within_half_a_year_are_all_believed(times: list[int]) -> None:
    """In any order."""
    assert reasons(times) == [None] * len(times)


@pytest.mark.parametrize("year", ["1926", "2025", "2027", "2126"])
def test_one_bad_line_does_not_move_the_clock_of_a_recording(tmp_path: Path, year: str) -> None:
    """Whether its time could be read or not; it is kept as a dead letter."""
    line = '{{"type":"usage","id":"{0}","ts":"{1}-08-13T11:0{0}:00+08:00","model":"m","total_tokens":1}}\n'
    source = tmp_path / "a.jsonl"
    source.write_text("".join(line.format(number, year if number in (0, 4) else "2026") for number in range(8)))
    found = list(merged([entries(source, Intake(UTC), None, lambda _source, _position: None)]))
    clocks = [item.at for item in found if isinstance(item, Clock)]
    assert clocks == sorted(clocks)
    assert clocks[-1] - clocks[0] <= 10 * MINUTE
    refused = [item.found.reason for item in found if not isinstance(item, Clock) and isinstance(item.found, Rejected)]
    assert len(refused) == 2
    assert set(refused) <= {Reason.BAD_TIME, Reason.IN_FUTURE}
