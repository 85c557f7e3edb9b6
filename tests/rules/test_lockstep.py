"""Event time, tick by tick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.facts import Fact, Heard, Partial, Sums, Watermark
from rules.lockstep import LockStep
from rules.records import Reading

SOURCES = {"usage": 2, "balances": 1}


class Log:
    """A judge that only writes down what it was given."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def apply(self, fact: Fact) -> bool:
        self.facts.append(fact)
        return True


def streams(ticks: int) -> list[list[Fact]]:
    """What three source partitions send: per tick a partial (usage) or a reading, then the watermark."""
    sent: list[list[Fact]] = [[], [], []]
    for tick in range(1, ticks + 1):
        for partition in range(2):
            sent[partition].append(Partial("model:m", partition, "2026-08-13", 0, tick, Sums(tokens=tick)))
            sent[partition].append(Watermark("usage", partition, 0, tick, tick, 0))
        sent[2].append(Heard("model:m", Reading(id=str(tick), at=tick, model="m", available=1), f"b/0/{tick}"))
        sent[2].append(Watermark("balances", 0, 0, tick, tick, 0))
    return sent


def run(order: list[int], *, ticks: int) -> list[tuple[int, list[Fact]]]:
    """Interleave the streams as `order` says and write down what has taken effect at each tick."""
    sent = streams(ticks)
    step, log, seen = LockStep(SOURCES), Log(), []
    for source in [*order, *([0, 1, 2] * 2 * ticks)]:
        if sent[source]:
            step.add(sent[source].pop(0))
            seen += [(at, list(log.facts)) for at in step.steps(log)]
    return seen


@given(st.lists(st.integers(0, 2), max_size=40))
def test_scheduling_changes_nothing(order: list[int]) -> None:
    """However the source partitions are interleaved, each tick sees the same facts in the same order."""
    assert run(order, ticks=4) == run([], ticks=4)


def test_a_tick_waits_for_every_source() -> None:
    """While one partition has not vouched, nothing takes effect."""
    step, log = LockStep(SOURCES), Log()
    step.add(Watermark("usage", 0, 0, 1, 1, 0))
    step.add(Watermark("balances", 0, 0, 1, 1, 0))
    assert list(step.steps(log)) == []
    step.add(Watermark("usage", 1, 0, 1, 1, 0))
    assert list(step.steps(log)) == [1]


@given(st.lists(st.integers(0, 2), max_size=30))
def test_what_waits_survives_a_change_of_owner(order: list[int]) -> None:
    """A new owner that takes up what waited, and how far each source vouched, goes on as the old one would have."""
    sent = streams(4)
    old, log = LockStep(SOURCES), Log()
    marks: list[Watermark] = []
    for source in order:
        if sent[source]:
            fact = sent[source].pop(0)
            marks += [fact] if isinstance(fact, Watermark) else []
            old.add(fact)
            list(old.steps(log))
    new = LockStep(SOURCES)
    for mark in marks:
        new.vouch(mark)
    for fact in old.waiting():
        new.add(fact)
    for source in range(3):
        for fact in sent[source]:
            new.add(fact)
    list(new.steps(log))
    expected = Log()
    reference = LockStep(SOURCES)
    for stream in streams(4):
        for fact in stream:
            reference.add(fact)
    list(reference.steps(expected))
    assert sorted(map(repr, log.facts)) == sorted(map(repr, expected.facts))
