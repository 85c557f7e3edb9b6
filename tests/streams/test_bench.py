"""When a partition's judge goes through all its scopes."""

from __future__ import annotations

from itertools import pairwise

from rules.judge import Judge
from rules.moment import Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.bench import TICK, Bench

FLUSH: Millis = 50
PARTITIONS = 8
NOON = 1_786_593_600_123


class Rounds(Judge):
    """Notes them."""

    def __init__(self) -> None:
        super().__init__(Policy(), Rulebook([]), PARTITIONS)
        self.at: list[Millis] = []

    def age(self, now: Millis) -> None:
        self.at.append(now)


def rounds(partition: int, times: range) -> list[Millis]:
    judge = Rounds()
    bench = Bench(judge, None, NOON, partition=partition)
    for now in times:
        assert not list(bench.rule(now))
    return judge.at


def test_partitions_take_turns() -> None:
    """Each goes through all its scopes at once when it begins, then once in a tick, and no two at the same time."""
    found = [rounds(partition, range(NOON, NOON + 10 * TICK, FLUSH)) for partition in range(PARTITIONS)]
    assert all(at[0] == NOON for at in found)
    later = [at[1:] for at in found]
    assert all(second - first == TICK for at in later for first, second in pairwise(at))
    assert all(len(at) >= 9 for at in later)
    assert len({now for at in later for now in at}) == sum(map(len, later))


def test_a_clock_that_was_set_back_delays_no_round() -> None:
    """Nothing waits until it is as late as it was."""
    assert rounds(0, range(NOON, NOON - 5 * TICK, -TICK)) == [NOON - back * TICK for back in range(5)]
