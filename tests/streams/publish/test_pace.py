"""How long to wait for a Redis that is away, and how often it may be surveyed."""

from __future__ import annotations

from streams.publish.pace import Pace


def test_pauses_grow_to_a_bound() -> None:
    """Soon at first, never more than two seconds, and soon again after a connection that held."""
    pace, pause, pauses = Pace(), Pace().first_retry, list[float]()
    for _ in range(7):
        pauses.append(pause)
        pause = pace.next_retry(pause, lasted=0.0)
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert pace.next_retry(pause, lasted=60.0) == 0.1


def test_a_survey_rests() -> None:
    """A quick one may be repeated after five seconds; a slow one takes a fiftieth of the time, or a minute off."""
    assert Pace().survey_rest(0.001) == 5.0
    assert Pace().survey_rest(0.5) == 25.0
    assert Pace().survey_rest(10.0) == 60.0
