"""A recording up to an instant."""

from __future__ import annotations

from rules.records import Clock, Usage
from rules.replay import up_to


def use(at: int) -> Usage:
    return Usage(f"u{at}", at, "m", 1)


def test_what_came_later_is_left_out_and_the_clock_is_set() -> None:
    """At the instant everything that had arrived has been given, and the clock says so."""
    assert list(up_to([use(1), Clock(at=2), use(3), use(9)], 5)) == [use(1), Clock(at=2), use(3), Clock(at=5)]


def test_a_recording_that_ends_before_ends_as_it_does() -> None:
    """Nobody vouches for the time after it."""
    assert list(up_to([use(1), Clock(at=2)], 5)) == [use(1), Clock(at=2)]


def test_nothing_behind_the_instant_is_read() -> None:
    """A recording may be long."""
    records = iter([use(1), use(6), use(7)])
    assert list(up_to(records, 5)) == [use(1), Clock(at=5)]
    assert next(records) == use(7)
