"""The route's step: what it puts onto `facts`, whatever clocks its producers have."""

from __future__ import annotations

import json

import msgspec
import pytest

from rules.dead_letter import DeadLetter
from rules.facts import Fact, Heard
from rules.moment import DAY
from rules.policy import Policy
from rules.records import Reason
from streams.dead_letters import DeadLetters
from streams.facts_topic import FactsTopic
from streams.metrics import Metrics
from streams.route import Route
from streams.topics import Topics
from tests.streams.partition import Partition

NOON = 1_786_593_600_000
TOPICS = Topics("t")


def partition() -> Partition:
    def make() -> Route:
        letters = DeadLetters(TOPICS.dead_letters, TOPICS.balances, Metrics())
        facts = FactsTopic(TOPICS.facts, 2)
        return Route("balances", TOPICS.balances, letters, facts, Policy(), event_clock=False, clock=lambda: NOON)

    return Partition(make)


def reading(at: int) -> bytes:
    return json.dumps({"type": "balance", "id": "b", "ts": at / 1000, "model": "m", "available": 1}).encode()


@pytest.mark.parametrize("stamp", [-1, 0, NOON - 400 * DAY, NOON, NOON + 400 * DAY])
def test_a_reading_is_heard_whatever_its_timestamp(stamp: int) -> None:
    """A producer's timestamp may be missing, years old or years ahead: the reading of now is heard."""
    found = partition()
    found.append(reading(NOON), stamp)
    found.handle(1)
    found.flush(NOON)
    heard = [msgspec.json.decode(output.value or b"", type=Fact) for output in found.sent]
    assert [fact.record.at for fact in heard if isinstance(fact, Heard)] == [NOON]


@pytest.mark.parametrize("stamp", [NOON, NOON + 400 * DAY])
def test_a_reading_of_next_year_is_refused(stamp: int) -> None:
    """It would be the newest for a year; the same clock having stamped the record makes it no truer."""
    found = partition()
    found.append(reading(NOON + 400 * DAY), stamp)
    found.handle(1)
    found.flush(NOON)
    (letter,) = [output for output in found.sent if output.topic == TOPICS.dead_letters]
    assert DeadLetter.decode(letter.value or b"").reason is Reason.IN_FUTURE
