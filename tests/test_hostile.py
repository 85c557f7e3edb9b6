"""The corpus of malformed lines is what it claims to be."""

from collections import Counter
from zoneinfo import ZoneInfo

import pytest

from rules.intake.reader import Intake
from rules.records import Reason, Rejected
from tests.hostile import LIMIT, SORTS, hostile_lines


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return hostile_lines(1000, seed=1)


def test_there_are_as_many_different_lines_as_asked_for(lines: list[bytes]) -> None:
    """No two are the same, none is blank or holds a line break."""
    assert len(set(lines)) == len(lines) == 1000
    assert all(line.strip() and b"\n" not in line for line in lines)


def test_every_line_that_is_not_too_long_is_rejected(lines: list[bytes]) -> None:
    """By nearly every reason there is, each with a sentence."""
    intake = Intake(ZoneInfo("Asia/Shanghai"))
    answers = [(line, intake.read(line)) for line in lines if len(line) <= LIMIT]
    assert [line[:200] for line, answer in answers if not isinstance(answer, Rejected)] == []
    reasons = Counter(answer.reason for _, answer in answers if isinstance(answer, Rejected))
    of_the_worker = {Reason.TOO_LARGE, Reason.WRONG_TOPIC, Reason.TOO_LATE, Reason.IN_FUTURE}
    assert set(reasons) == set(Reason) - of_the_worker


def test_four_lines_are_too_long(lines: list[bytes]) -> None:
    """Three of ten megabytes, one by a byte."""
    sizes = sorted(len(line) for line in lines if len(line) > LIMIT)
    assert len(sizes) == 4
    assert sizes[0] == LIMIT + 1
    assert sizes[1] > 10_000_000


def test_the_same_seed_gives_the_same_lines() -> None:
    """A failure can be repeated."""
    assert hostile_lines(100, seed=7) == hostile_lines(100, seed=7) != hostile_lines(100, seed=8)
    assert len(SORTS) < 100
