"""The two recordings that ship with the product are read to the last line."""

from collections import Counter
from pathlib import Path

import pytest

import streams
from rules.intake.reader import Intake
from rules.moment import to_rfc3339
from rules.records import Reading, Record, Refusal, Rejected, Usage

SAMPLES = Path(streams.__file__).parent / "samples"
MODEL = "deepseek-v4-flash-ga-260731"


Named = Usage | Reading | Refusal


def records(intake: Intake, name: str) -> list[Record | Rejected | None]:
    """What each line of a recording is."""
    return [intake.read_log(line) for line in (SAMPLES / name).read_bytes().splitlines()]


RECORDINGS = [
    ("incident-2026-08-12.log", {Usage: 221, Reading: 2, Refusal: 1}, 2, 1_696_135, [1_558_307, 596_869]),
    ("incident-2026-08-13.log", {Usage: 161, Reading: 3}, 0, 665_268, [2_242_178, 2_242_063, 1_726_526]),
]


@pytest.mark.parametrize(("name", "kinds", "foreign", "tokens", "balances"), RECORDINGS)
def test_a_recording_is_read_to_the_last_line(
    intake: Intake, name: str, kinds: dict[type, int], foreign: int, tokens: int, balances: list[int]
) -> None:
    """Counts by kind, the sum of tokens, the balances; nothing is rejected."""
    found = records(intake, name)
    assert Counter(map(type, found)) == Counter(kinds | {type(None): foreign})
    assert sum(record.total_tokens for record in found if isinstance(record, Usage)) == tokens
    assert [record.available for record in found if isinstance(record, Reading)] == balances
    assert {record.model for record in found if isinstance(record, Named)} == {MODEL}


@pytest.mark.parametrize("name", [recording[0] for recording in RECORDINGS])
def test_every_line_of_a_recording_has_an_id_of_its_own(intake: Intake, name: str) -> None:
    """The running total keeps equal amounts apart."""
    ids = [record.id for record in records(intake, name) if isinstance(record, Named)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("name", [recording[0] for recording in RECORDINGS])
def test_the_running_total_of_a_recording_adds_up(intake: Intake, name: str) -> None:
    """Each line's total is the one before and its own tokens."""
    total = 0
    for record in records(intake, name):
        if isinstance(record, Usage):
            total += record.total_tokens
            assert record.today == total


def test_the_times_of_a_recording_are_local(intake: Intake) -> None:
    """The first line of 08-13 was written at ten past midnight in Shanghai."""
    first = records(intake, "incident-2026-08-13.log")[0]
    assert isinstance(first, Reading)
    assert to_rfc3339(first.at) == "2026-08-12T16:10:00.000+00:00"
