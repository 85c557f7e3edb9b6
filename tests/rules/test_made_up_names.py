"""Names that callers make up: what they cost, and how they are forgotten."""

from __future__ import annotations

from collections import Counter

import pytest

from rules.book import ModelBook
from rules.facts import Heard, Minutes, Partial, Sums, Watermark
from rules.judge import AT_ONCE, Judge
from rules.moment import DAY, HOUR, SECOND, Millis
from rules.policy import ModelTerms, Policy
from rules.records import Reading
from streams.policy_file import default_rulebook

NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00
POLICY = Policy(models={"named": ModelTerms()})
RULEBOOK = default_rulebook(POLICY)
MADE_UP = 3_000


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each book was looked at."""
    counted: Counter[str] = Counter()
    look = ModelBook.look

    def counting(book: ModelBook, *arguments: object) -> object:
        counted[book.model] += 1
        return look(book, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ModelBook, "look", counting)
    return counted


def judge() -> Judge:
    return Judge(POLICY, RULEBOOK, usage_partitions=1)


def used(model: str, tokens: int, day: str = "2026-08-13", offset: int = 1) -> Partial:
    return Partial(f"model:{model}", 0, day, 0, offset, Sums(tokens=tokens, requests=1))


def vouched(offset: int, at: Millis) -> Watermark:
    return Watermark("usage", 0, 0, offset, at, NOON - HOUR)


def read(model: str, at: Millis) -> Heard:
    return Heard(f"model:{model}", Reading(id=f"r{at}", at=at, model=model, available=1_000_000), f"b/0/{at}")


def test_a_watermark_costs_looks_at_what_it_can_change_only(looks: Counter[str]) -> None:
    """Three thousand made-up names cost nothing when usage becomes complete; the model with a balance is looked at."""
    court = judge()
    court.apply(read("named", NOON))
    for number in range(MADE_UP):
        court.apply(used(f"made-up-{number}", 1))
    court.rule(NOON)
    looks.clear()
    court.apply(vouched(1, NOON))
    court.rule(NOON)
    assert not looks
    court.age(NOON)
    court.rule(NOON)
    assert looks == {"named": 1}


def test_time_reaches_every_name_a_few_at_once(looks: Counter[str]) -> None:
    """Within a minute and a few rounds all are looked at again, never more than so many in one round."""
    court = judge()
    for number in range(MADE_UP):
        court.apply(used(f"made-up-{number}", 1))
    court.rule(NOON)
    looks.clear()
    for second in range(1, 60 + MADE_UP // AT_ONCE + 1):
        before = looks.total()
        court.age(NOON + second * SECOND)
        court.rule(NOON + second * SECOND)
        assert looks.total() - before <= AT_ONCE
    assert len(looks) == MADE_UP


def test_a_day_change_reaches_every_name(looks: Counter[str]) -> None:
    """A decision of yesterday is made anew in the first rounds of the day, however lately it was made."""
    court, midnight = judge(), NOON + 12 * HOUR
    court.apply(used("made-up", 1))
    court.rule(midnight - SECOND)
    court.age(midnight)
    (outcome,) = court.rule(midnight)
    assert (outcome.ruling.day, outcome.ruling.used) == ("2026-08-14", 0)


def test_a_clock_set_back_keeps_no_name_waiting(looks: Counter[str]) -> None:
    """A look in the future is not waited for."""
    court = judge()
    court.apply(used("made-up", 1))
    court.rule(NOON + DAY)
    looks.clear()
    court.age(NOON)
    court.rule(NOON)
    assert looks == {"made-up": 1}


def test_calls_that_used_nothing_open_no_book() -> None:
    """A failed call under a made-up name leaves no book and no row; the first tokens open it with all that was told."""
    court = judge()
    court.apply(used("made-up", 0))
    court.apply(used("named", 0))
    assert list(court.books) == ["model:named"]
    assert "model:made-up|0|2026-08-13" not in court.take_rows()
    court.apply(used("made-up", 5, offset=2))
    assert court.books["model:made-up"].counter.total() == 5


def test_a_name_nobody_uses_any_more_is_forgotten() -> None:
    """Days later its book and all its rows are gone, and that is told; a named model and one with a balance stay."""
    court = judge()
    for model in ("made-up", "named", "read"):
        court.apply(used(model, 7))
        court.apply(Minutes(f"model:{model}", 0, NOON // HOUR, 0, 1, [7] + [0] * 59))
    court.apply(read("read", NOON))
    court.rule(NOON)
    stored = {key for key, value in court.take_rows().items() if value is not None}
    court.apply(vouched(2, NOON + 7 * DAY))
    court.age(NOON + 7 * DAY)
    court.rule(NOON + 7 * DAY)
    assert sorted(court.books) == ["model:named", "model:read"]
    assert court.take_closed() == ["model:made-up"]
    gone = {key for key, value in court.take_rows().items() if value is None}
    assert {key for key in stored if "made-up" in key} <= gone
    assert court.ruling("model:made-up") is None
    assert court.take_closed() == []


def test_nothing_is_forgotten_before_usage_is_complete() -> None:
    """A clock that runs ahead by itself forgets nothing: the watermark of usage has to pass as well."""
    court = judge()
    court.apply(used("made-up", 7))
    court.apply(vouched(2, NOON))
    court.rule(NOON)
    court.age(NOON + 30 * DAY)
    court.rule(NOON + 30 * DAY)
    assert list(court.books) == ["model:made-up"]


def test_rows_without_a_book_are_not_kept_for_ever() -> None:
    """What an earlier program stored of calls that used nothing goes with the first flush."""
    court = judge()
    old = {"model:made-up|0|2026-08-13": {"type": "partial", "scope": "model:made-up", "partition": 0,
           "day": "2026-08-13", "incarnation": 0, "offset": 1, "sums": [0, 1]}}  # fmt: skip
    court.restore(old)
    assert court.take_rows() == {"model:made-up|0|2026-08-13": None}
