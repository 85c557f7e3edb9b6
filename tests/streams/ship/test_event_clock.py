"""Recordings merged by time, and the clock between their records."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rules.calls import Calls
from rules.moment import MINUTE
from rules.records import Clock, Reading, Reason, Rejected, Usage
from streams.ship.event_clock import Entry, in_lots, merged
from streams.ship.lines import Line

START = 1_786_590_480_000
BAD = Rejected(Reason.NOT_JSON, "no")


def usage(at: int) -> Usage:
    return Usage(id=f"u{at}", at=START + at, model="m", total_tokens=1)


def reading(at: int) -> Reading:
    return Reading(id=f"b{at}", at=START + at, model="m", available=1)


def entries(source: str, found: list[Usage | Reading | Rejected | None]) -> list[Entry]:
    return [Entry(what, Line(number, b"x", 1), source) for number, what in enumerate(found, 1)]


times = st.integers(0, 30 * MINUTE)
lines = st.one_of(times.map(usage), times.map(reading), st.just(BAD), st.none())
recordings = st.lists(st.lists(lines, max_size=12), max_size=3).map(
    lambda found: [entries(f"f{number}", what) for number, what in enumerate(found)]
)


@given(recordings)
def test_no_line_is_lost_and_each_file_keeps_its_order(files: list[list[Entry]]) -> None:
    """Only the clock is added."""
    given_ = [item for item in merged(files) if isinstance(item, Entry)]
    assert [[entry for entry in given_ if entry.source == f"f{number}"] for number in range(len(files))] == files


@given(recordings)
def test_the_clock_only_goes_forward(files: list[list[Entry]]) -> None:
    """It is never given twice for an instant, and ends at the time of the last record."""
    clocks = [item.at for item in merged(files) if isinstance(item, Clock)]
    assert all(before < after for before, after in pairwise(clocks))
    known = [entry.at for file in files for entry in file if entry.at is not None]
    assert clocks[-1:] == ([max(known)] if known else [])


@given(recordings)
def test_no_record_is_more_than_a_minute_ahead_of_the_clock(files: list[list[Entry]]) -> None:
    """A record ten minutes ahead of the clock would be refused as in the future."""
    now = None
    for item in merged(files):
        if isinstance(item, Clock):
            now = item.at
        elif item.at is not None:
            assert now is not None
            assert item.at <= now + MINUTE


@given(recordings)
def test_the_clock_stops_at_every_reading(files: list[list[Entry]]) -> None:
    """Every reading in time is ruled upon at its own instant, with all that belongs to it and nothing later."""
    items = list(merged(files))
    clocks = {item.at for item in items if isinstance(item, Clock)}
    newest = 0
    for item in items:
        if isinstance(item, Entry) and item.at is not None:
            newest = max(newest, item.at)
            assert not isinstance(item.found, Reading) or newest in clocks


@given(st.lists(times, max_size=20))
def test_a_clock_vouches_for_what_comes_before_it(at: list[int]) -> None:
    """Of files in order, everything up to a clock's time stands before the clock."""
    files = [entries(str(n), [usage(when) for when in sorted(at[n::3])]) for n in range(3)]
    now = 0
    for item in merged(files):
        if isinstance(item, Clock):
            now = item.at
        else:
            assert item.at is not None
            assert item.at > now


def as_read(found: list[Usage | Reading | Rejected | None]) -> Calls | list[Usage | Reading | Rejected | None]:
    """What a reader says of lines: if all of them are usage it does not say it line by line."""
    usages = [each for each in found if isinstance(each, Usage)]
    return Calls(usages, [each.at for each in usages]) if found and usages == found else found


@given(st.lists(lines, max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_one_file_is_given_in_lots_as_it_is_line_by_line(
    found: list[Usage | Reading | Rejected | None], cuts: list[int]
) -> None:
    """Lists of usage, taken apart, are the same records with the same clock between them, however the file is read."""
    edges = sorted({0, len(found), *(cut for cut in cuts if cut < len(found))})
    answers = [as_read(found[start:stop]) for start, stop in pairwise(edges)]
    apart = [each for item in in_lots(answers) for each in (item.calls if isinstance(item, Calls) else [item])]
    one_by_one = merged([entries("f", found)])
    assert apart == [item.found if isinstance(item, Entry) else item for item in one_by_one]


def test_a_late_line_is_late_and_does_not_move_the_clock() -> None:
    """It stays behind the lines that were written before it, also when another file is merged in."""
    late = entries("a", [usage(5 * MINUTE), usage(MINUTE)])
    other = entries("b", [usage(2 * MINUTE)])
    found = [item.at for item in merged([late, other])]
    at = [MINUTE, 2 * MINUTE, 4 * MINUTE, 5 * MINUTE, MINUTE, 5 * MINUTE]
    assert found == [START + when for when in at]


def test_equal_times_keep_the_order_of_the_files() -> None:
    """The merge is stable."""
    files = [entries("a", [usage(0)]), entries("b", [usage(0)])]
    assert [item.source for item in merged(files) if isinstance(item, Entry)] == ["a", "b"]


def test_nothing_is_said_about_nothing() -> None:
    """Without a record there is no time."""
    assert list(merged([])) == []
    assert [type(item) for item in merged([entries("a", [BAD, None])])] == [Entry, Entry]
