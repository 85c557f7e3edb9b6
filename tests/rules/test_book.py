"""One model's book, whatever the clock of the machine it is kept on."""

from __future__ import annotations

import pytest

from rules.book import BookRow, ModelBook
from rules.facts import Partial, Sums
from rules.moment import DAY
from rules.policy import Policy

NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00


def partial(day: str, offset: int, tokens: int) -> Partial:
    return Partial("model:m", 0, day, 0, offset, Sums(tokens=tokens))


@pytest.mark.parametrize("idle", [False, True])
def test_a_clock_that_ran_ahead_makes_no_usage_count_for_nothing(idle: bool) -> None:
    """Back in its own year, the day goes on where it was, and its usage counts in full and once."""
    book = ModelBook("model:m", Policy(), BookRow())
    if not idle:
        book.merge(partial("2026-08-13", 1, 100))
    book.tidy(NOON + 400 * DAY)
    book.merge(partial("2026-08-13", 2, 150))
    book.tidy(NOON)
    assert book.counter.tokens("2026-08-13") == 150
    assert book.counter.total() == 150


def test_days_long_past_are_closed_once_usage_has_gone_on() -> None:
    """Their rows may go, their tokens stay in the total, and nothing that comes again is counted twice."""
    book = ModelBook("model:m", Policy(), BookRow())
    for number in range(10, 20):
        book.merge(partial(f"2026-08-{number}", number, 7))
    gone = book.tidy(NOON + 6 * DAY)
    assert "model:m|0|2026-08-13" in gone
    assert book.merge(partial("2026-08-13", 13, 7)) is False
    assert book.counter.total() == 70
    assert len(book.counter.days) == 5
