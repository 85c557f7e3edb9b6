"""One model's book, whatever the clock of the machine it is kept on."""

from __future__ import annotations

import msgspec
import pytest

from rules.book import BookRow, ModelBook
from rules.documented import SCOPE_FACTS
from rules.facts import Partial, Sums
from rules.judge import Judge
from rules.moment import DAY, MINUTE
from rules.policy import Policy, RuleSpec
from rules.rulebook import Rulebook

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


def test_what_a_rule_remembers_is_in_the_stored_row() -> None:
    """A judge that is started again in the middle of `for:` fires when the first would have, and a trial binds
    nobody."""
    specs = [
        RuleSpec(name="slow", scope="model", when="used > 5", action="block", says="x", lasting=5 * MINUTE),
        RuleSpec(name="trial", scope="model", when="used > 5", action="kill", says="y", dry_run=True),
    ]
    rulebook = Rulebook.compile(specs, SCOPE_FACTS)
    assert isinstance(rulebook, Rulebook)
    first = Judge(Policy(), rulebook, 1)
    first.apply(partial("2026-08-13", 1, 10))
    (before,) = first.rule(NOON)
    rows = msgspec.json.decode(msgspec.json.encode(first.take_rows()))
    second = Judge(Policy(), rulebook, 1)
    second.restore(rows)
    actions = [(second.rule(NOON + at, every=True), second.ruling("model:m")) for at in (5 * MINUTE - 1, 5 * MINUTE)]
    assert [before.ruling.action, *(ruling.action for _, ruling in actions if ruling)] == ["allow", "allow", "block"]
    assert [would.rule for would in before.ruling.would] == ["trial"]
