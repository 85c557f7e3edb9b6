"""The judge tells what a decision stands on: with every entry of the history, and with nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from blastdoor_gateway.contract import Decision

from rules.grounds import Grounds, Part
from rules.moment import MINUTE
from tests.streams.test_judge import START, TOPICS, Bed, minute_of_story, story


def history(bed: Bed) -> list[dict[str, Any]]:
    sent = [output for output in bed.partition.sent if output.topic == TOPICS.decisions]
    return [Decision.from_json(output.value or b"").because for output in sent]


@pytest.fixture(params=[False, True], ids=["wall", "event"])
def bed(request: pytest.FixtureRequest) -> Bed:
    found = Bed(event_clock=request.param)
    found.add(*story(15))
    found.now = START + 75 * MINUTE
    found.finish()
    return found


def test_every_entry_of_the_history_can_be_explained(bed: Bed) -> None:
    """With the readings that gave its ends, where they stood on Kafka, and how far usage was read."""
    told = [msgspec.convert(because, Grounds) for because in history(bed)]
    assert told
    last = told[-1]
    assert {part for said in last.readings for part in said.parts} >= {Part.LOW, Part.HIGH, Part.LATEST}
    assert all(said.origin.startswith("b/0/") for said in last.readings)
    assert last.positions == {"0": 75, "1": 75}
    assert last.when == 'limit_known && used >= limit && wall != "cap"'


def test_origins_outlive_a_restart(bed: Bed) -> None:
    """A new owner names the readings of the old one by their places."""
    bed.partition.start()
    bed.add(*minute_of_story(76, (800_000, 800_000)))
    bed.now += MINUTE
    bed.finish()
    readings = msgspec.convert(history(bed)[-1], Grounds).readings
    assert readings
    assert all(said.origin.startswith("b/0/") for said in readings)
