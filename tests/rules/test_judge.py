"""The judge and its books: whatever kind of scope a book is about, it is asked when something may have changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from rules import judge as judging
from rules.calendar import Calendar
from rules.facts import Heard, Partial, Scope, Stored, Sums, Watermark
from rules.judge import Judge
from rules.moment import DAY, HOUR, Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.records import Control, ControlAction
from rules.ruling import Ruling
from rules.scope_book import Situation
from streams.policy_file import default_rulebook

T0 = Calendar("Asia/Shanghai").start("2026-08-13")


class Row(Struct):
    """What a sleeper stores."""

    heard: list[str] = []


class Sleeper:
    """A book that sleeps until noon unless it is told something."""

    wakes: Millis = T0 + 12 * HOUR

    def __init__(self, scope: Scope, _: Policy, row: Any = None) -> None:
        self.scope = scope
        self.row = Row() if row is None else msgspec.convert(row, Row)
        self.asked = 0

    def merge(self, fact: Stored) -> bool:  # noqa: ARG002
        return False

    def hear(self, heard: Heard) -> None:
        self.row.heard = [*self.row.heard, heard.record.id]

    def tidy(self, now: Millis) -> list[str]:  # noqa: ARG002
        return []

    def is_over(self, until: Millis) -> bool:  # noqa: ARG002
        return False

    def keys(self) -> list[str]:
        return []

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        self.asked += 1
        ruling = Ruling(
            scope=self.scope, at=situation.now, day="2026-08-13", until=None, action="allow", rule="", reason="",
            severity=None, formula="", policy="", wall="", limit=None, used=len(self.row.heard), base=0, counter="",
            guarded={},
        )  # fmt: skip
        return Outcome(ruling, [], history=False, news=before is None or before.used != ruling.used)

    def stored(self) -> Row:
        return self.row


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    monkeypatch.setattr(judging, "KINDS", {**judging.KINDS, "sleeper": Sleeper})
    return Judge(Policy(), default_rulebook(Policy()), usage_partitions=1)


def said(number: int, scope: Scope = "sleeper:s") -> Heard:
    control = Control(id=f"c{number}", at=T0, action=ControlAction.KILL, scope=scope, by="ann", why="drill")
    return Heard(scope, control, f"controls/0/{number}")


def sleeper(judge: Judge) -> Sleeper:
    book = judge.books["sleeper:s"]
    assert isinstance(book, Sleeper)
    return book


def test_a_book_is_opened_by_what_is_heard(judge: Judge) -> None:
    """The kind of a scope says which book it gets; the ruling is news, and its row is stored."""
    judge.apply(said(1))
    (outcome,) = judge.rule(T0)
    assert (outcome.ruling.scope, outcome.ruling.used) == ("sleeper:s", 1)
    assert judge.take_rows() == {"book|sleeper:s": {"heard": ["c1"]}}


def test_a_kind_without_a_book_binds_nobody(judge: Judge) -> None:
    """What is heard of an unknown kind of scope changes nothing, and neither does a row of it."""
    judge.apply(said(1, "planet:mars"))
    judge.restore({"book|planet:mars": {}})
    assert judge.rule(T0, every=True) == []
    assert judge.take_rows() == {}


def test_time_and_watermarks_leave_a_sleeper_alone(judge: Judge) -> None:
    """Before a book wakes it is ruled on only when it is told something."""
    judge.apply(said(1))
    judge.rule(T0)
    judge.apply(Watermark("usage", 0, 0, 1, T0, T0))
    judge.rule(T0 + HOUR)
    judge.rule(T0 + HOUR, every=True)
    assert sleeper(judge).asked == 1
    judge.rule(T0 + DAY, every=True)
    judge.apply(said(2))
    (outcome,) = judge.rule(T0 + DAY)
    assert (sleeper(judge).asked, outcome.ruling.used) == (3, 2)


def test_a_book_survives_a_restart(judge: Judge) -> None:
    """A new owner goes on from the stored row and rules at once."""
    judge.apply(said(1))
    judge.rule(T0)
    after = Judge(Policy(), default_rulebook(Policy()), usage_partitions=1)
    after.restore(judge.take_rows())
    (outcome,) = after.rule(T0)
    assert outcome.ruling.used == 1


def used(scope: Scope, tokens: int) -> Partial:
    return Partial(scope, 0, "2026-08-13", 1, tokens, Sums(tokens, 1))


def test_usage_far_from_a_limit_is_ruled_on_at_a_pace(judge: Judge) -> None:
    """After a rest three rulings on usage may come at once, then one in each pace; none that waits is forgotten."""
    for tokens in (1, 2, 3):
        judge.apply(used("model:m", tokens))
        assert [outcome.ruling.used for outcome in judge.rule(T0, pace=150)] == [tokens]

    judge.apply(used("model:m", 4))
    assert judge.rule(T0 + 149, pace=150) == []
    assert judge.is_waiting
    assert [outcome.ruling.used for outcome in judge.rule(T0 + 150, pace=150)] == [4]
    assert not judge.is_waiting


def test_other_rulings_have_no_part_in_the_pace(judge: Judge) -> None:
    """However often a scope is ruled on for other reasons, usage is ruled on three times at once, and then waits."""
    for tokens in range(1, 9):
        judge.apply(used("model:m", tokens))
        judge.attend("model:m")
        judge.rule(T0, pace=150)
    for tokens in range(9, 12):
        judge.apply(used("model:m", tokens))
        assert [outcome.ruling.used for outcome in judge.rule(T0, pace=150)] == [tokens]
    judge.attend("model:m")
    judge.rule(T0, pace=150)
    judge.apply(used("model:m", 12))

    assert judge.rule(T0, pace=150) == []
    assert judge.is_waiting


def test_what_changes_no_ruling_uses_up_no_pace(judge: Judge) -> None:
    """Sums that are told again with more of their minutes count for nothing."""
    judge.apply(used("model:m", 1))
    judge.rule(T0, pace=150)
    for offset in range(10, 20):
        judge.apply(replace(used("model:m", 1), offset=offset))
        assert judge.rule(T0, pace=150) == []
        assert not judge.is_waiting


@pytest.mark.parametrize(
    ("limit", "at", "waits"), [(5, T0 + 1, True), (4, T0 + 1, False), (None, T0 + 1, True), (5, T0 - 1, False)]
)
def test_usage_near_a_limit_is_ruled_on_at_once(judge: Judge, limit: int | None, at: Millis, waits: bool) -> None:
    """With half of the limit used no ruling on usage waits; nor does one if the clock was set back."""
    for tokens in range(1, 4):
        judge.apply(used("model:m", tokens))
        judge.rule(T0, pace=150)
    judge._current["model:m"] = replace(judge._current["model:m"], limit=limit, used=2)
    judge.apply(used("model:m", 4))

    judge.rule(at, pace=150)

    assert judge.is_waiting is waits


def test_an_order_waits_for_no_pace(judge: Judge) -> None:
    """What is heard of a scope is ruled on at once, whatever was ruled a moment ago."""
    judge.apply(said(1))
    judge.rule(T0, pace=150)
    judge.apply(said(2))

    (outcome,) = judge.rule(T0 + 1, pace=150)

    assert outcome.ruling.used == 2


def test_tenants_are_looked_at_when_all_scopes_are(judge: Judge) -> None:
    """Usage of a tenant is ruled on with the next round of all scopes, not with every batch."""
    judge.apply(used("tenant:acme", 7))
    assert judge.rule(T0) == []

    judge.age(T0 + 1_000)
    judge.rule(T0 + 1_000)

    ruling = judge.ruling("tenant:acme")
    assert ruling is not None
    assert ruling.used == 7
