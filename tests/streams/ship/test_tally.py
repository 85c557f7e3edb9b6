"""The summary names every kind with its number, and dead letters always."""

from collections import Counter

from streams.ship.tally import Tally


def test_a_summary_lists_what_there_was() -> None:
    """With thousands separators; skipped lines only if there were any."""
    tally = Tally(sent=Counter({"usage": 1_234_567, "readings": 3, "refusals": 0}), skipped=2)
    lines = [line.split() for line in tally.summary().splitlines()]
    assert lines == [["usage", "1,234,567"], ["readings", "3"], ["dead", "letters", "0"], ["skipped", "lines", "2"]]


def test_an_empty_summary_still_speaks_of_dead_letters() -> None:
    """None is a message, too."""
    assert Tally().summary().split() == ["dead", "letters", "0"]
