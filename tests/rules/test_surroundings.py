"""What blastdoor stands on: samples in, conditions out."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rules.alerts import Kind, Severity
from rules.moment import HOUR, MINUTE, SECOND
from rules.policy import Watch
from rules.surroundings import FLOOR, Gate, Memory, Sample, Surroundings, conditions

START = 1_786_591_320_000
WATCH = Watch()
MB = 1024 * 1024


def kinds(samples: Iterable[Sample], watch: Watch = WATCH) -> list[list[Kind]]:
    """What holds after each look."""
    known, found = Surroundings(), []
    for sample in samples:
        known.add(sample)
        found.append([condition.kind for condition in conditions(known, watch, sample.at)])
    return found


def letters(*counts: int | None, pause: int = MINUTE) -> list[Sample]:
    return [Sample(at=START + place * pause, dead_letters=count) for place, count in enumerate(counts)]


def test_dead_letters_that_were_there_before_are_no_rise() -> None:
    """However many lie on the topic: only new ones count."""
    assert kinds(letters(5_000, 5_000, 5_009)) == [[], [], []]


def test_ten_within_ten_minutes_are_told_until_they_stop() -> None:
    """A rise holds as long as the last ten minutes saw so many."""
    found = kinds(letters(0, 4, 8, 12, *[12] * 12))
    assert [bool(each) for each in found] == [False] * 3 + [True] * 8 + [False] * 5


def test_slow_drops_are_no_alarm() -> None:
    """One bad record every two minutes for hours stays below ten in ten minutes."""
    assert not any(kinds(letters(*(place // 2 for place in range(200)))))


def test_a_topic_made_anew_is_no_rise_and_no_fall() -> None:
    """Offsets that begin again at zero count from there."""
    assert kinds(letters(5_000, 0, 3)) == [[], [], []]


def test_what_could_not_be_found_out_changes_nothing() -> None:
    """A look that failed neither raises nor ends an alarm."""
    assert [bool(each) for each in kinds(letters(0, 20, None, None))] == [False, True, True, True]


def test_redis_that_is_away_for_a_minute_is_told() -> None:
    """A restart of a few seconds is not; nothing is said of its memory or its gates meanwhile."""
    away = [Sample(at=START + place * 20 * SECOND, redis_away=place > 0) for place in range(6)]
    back = [Sample(at=START + 130 * SECOND)]
    found = kinds([*away, *back])
    assert found == [[], [], [], [], [Kind.REDIS_UNREACHABLE], [Kind.REDIS_UNREACHABLE], []]


@pytest.mark.parametrize(
    ("used", "most", "severity"),
    [
        pytest.param(799 * MB, 1_000 * MB, None, id="below the share"),
        pytest.param(800 * MB, 1_000 * MB, Severity.CRITICAL, id="at the share of maxmemory"),
        pytest.param(FLOOR - 1, 0, None, id="unbounded, but small"),
    ],
)
def test_memory_near_its_bound(used: int, most: int, severity: Severity | None) -> None:
    """With a maxmemory its share is what counts."""
    known = Surroundings()
    known.add(Sample(at=START, memory=Memory(used, most)))
    assert [condition.severity for condition in conditions(known, WATCH, START)] == ([severity] if severity else [])


def test_without_a_bound_doubling_within_a_day_is_told() -> None:
    """Keys that nobody lets expire: twice the least of the last 24 hours. What grew longer ago is the new normal."""
    grown = [Sample(at=START + hour * HOUR, memory=Memory((300 if hour < 10 else 620) * MB, 0)) for hour in range(40)]
    found = [bool(each) for each in kinds(grown)]
    assert found == [False] * 10 + [True] * 23 + [False] * 7


def test_a_gate_that_runs_open_is_named() -> None:
    """Which gates, how many calls, and why as they say; the first three by name."""
    known = Surroundings()
    gates = tuple(Gate(f"gate-{number}", number, "timeout") for number in range(1, 6))
    known.add(Sample(at=START, gates=gates))
    (condition,) = conditions(known, WATCH, START)
    assert condition.kind is Kind.GATE_OPEN
    assert condition.reason == (
        "15 calls passed unasked at gate-1 (timeout), gate-2 (timeout), gate-3 (timeout) and 2 more"
    )


def test_a_policy_file_that_is_not_in_force_is_told() -> None:
    """With the reason, also while Redis is away, and no more once the file is in force."""
    known = Surroundings()
    known.add(Sample(at=0, redis_away=True, policy="line 3, modles: unknown key"))
    (found,) = conditions(known, Watch(), 0)
    assert found.kind is Kind.POLICY_REFUSED
    assert found.reason == "the changed policy file is not in force: line 3, modles: unknown key"
    known.add(Sample(at=1))
    assert list(conditions(known, Watch(), 1)) == []
