"""The route's step: readings and controls find their scope, whatever clocks their producers have."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from rules.dead_letter import DeadLetter
from rules.facts import Fact, Heard, Watermark
from rules.moment import DAY, MINUTE, SECOND
from rules.policy import Policy
from rules.records import Reading, Reason
from streams.dead_letters import DeadLetters
from streams.facts_topic import FactsTopic
from streams.metrics import Metrics
from streams.route import Route
from streams.topics import Topics
from tests.streams.partition import Partition

NOON = 1_786_593_600_000
TOPICS = Topics("t")
POLICY = Policy(aliases={"volcengine/m": "m"})


class Bed:
    """A partition of balances whose wall clock the test moves."""

    def __init__(self, *, event_clock: bool = False) -> None:
        self.now = NOON
        self.event_clock = event_clock
        self.partition = Partition(self.make)

    def make(self) -> Route:
        letters = DeadLetters(TOPICS.dead_letters, TOPICS.balances, Metrics())
        facts = FactsTopic(TOPICS.facts, 1)
        return Route(
            "balances",
            TOPICS.balances,
            letters,
            facts,
            POLICY,
            sheets=TOPICS.sheets,
            event_clock=self.event_clock,
            clock=lambda: self.now,
        )

    def send(self, at: int, timestamp: int, **fields: Any) -> None:
        """One reading, handled and flushed."""
        reading = {"type": "balance", "id": f"r{at}", "ts": at / 1000, "model": "volcengine/m", "available": 5}
        self.partition.append(json.dumps(reading | fields).encode(), timestamp)
        self.partition.handle(1)
        self.flush()

    def flush(self) -> None:
        self.partition.flush(self.now)

    def facts(self) -> list[Fact]:
        sent = [output for output in self.partition.sent if output.topic == TOPICS.facts]
        return [msgspec.json.decode(output.value or b"", type=Fact) for output in sent]

    def heard(self) -> list[Heard]:
        return [fact for fact in self.facts() if isinstance(fact, Heard)]

    def letters(self) -> list[DeadLetter]:
        sent = [output for output in self.partition.sent if output.topic == TOPICS.dead_letters]
        return [DeadLetter.decode(output.value or b"") for output in sent]


def test_a_reading_goes_to_the_one_name_of_its_model() -> None:
    """With the place where it stood, and the watermark that vouches for it after it."""
    bed = Bed()
    bed.send(NOON, NOON)
    (heard,) = bed.heard()
    assert (heard.scope, heard.origin) == ("model:m", "t.balances/0/0")
    assert isinstance(heard.record, Reading)
    assert heard.record.model == "m"
    assert isinstance(bed.facts()[-1], Watermark)


@pytest.mark.parametrize(
    ("timestamp", "received"),
    [
        pytest.param(NOON - SECOND, NOON - SECOND, id="the record's timestamp"),
        pytest.param(NOON + 2 * MINUTE, NOON, id="but nothing is received later than now"),
        pytest.param(NOON - 10 * MINUTE, NOON - 3 * SECOND, id="nor before the partition was last read to its end"),
        pytest.param(-1, NOON - 3 * SECOND, id="nor without a timestamp"),
    ],
)
def test_when_a_reading_was_received(timestamp: int, received: int) -> None:
    """A producer whose clock is off stamps the record with it as well."""
    bed = Bed()
    bed.now = NOON - SECOND
    bed.flush()  # read to its end, by an answer up to two seconds old
    bed.now = NOON
    bed.send(NOON - 5 * MINUTE, timestamp)
    assert bed.heard()[0].received == received


def test_a_reading_of_two_minutes_hence_was_received_now() -> None:
    """Whatever stamps it carries."""
    bed = Bed()
    bed.send(NOON + 2 * MINUTE, NOON + 2 * MINUTE)
    assert bed.heard()[0].received == NOON


def test_a_backlog_was_received_when_its_records_say() -> None:
    """After a start nothing is known but the timestamps."""
    bed = Bed()
    bed.send(NOON - 60 * MINUTE, NOON - 60 * MINUTE)
    assert bed.heard()[0].received == NOON - 60 * MINUTE


def test_a_recording_was_not_received() -> None:
    """In event time nothing is compared with the wall clock."""
    bed = Bed(event_clock=True)
    bed.send(NOON - 60 * MINUTE, NOON)
    assert bed.heard()[0].received is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"unit": "CNY"}, Reason.WRONG_UNIT),
        ({"unit": "次"}, Reason.WRONG_UNIT),
        ({"unit": ""}, Reason.WRONG_UNIT),
        ({"available": None}, Reason.WRONG_TYPE),
        ({"available": "unauthorized"}, Reason.WRONG_TYPE),
        ({"available": -1}, Reason.BAD_VALUE),
    ],
)
def test_a_failed_or_foreign_balance_is_a_dead_letter_and_never_zero(fields: dict[str, Any], reason: Reason) -> None:
    """Money, points and calls are no tokens, and what could not be read says nothing about the pool."""
    bed = Bed()
    bed.send(NOON, NOON, **fields)
    assert bed.heard() == []
    assert [letter.reason for letter in bed.letters()] == [reason]


@pytest.mark.parametrize("stamp", [-1, 0, NOON - 400 * DAY, NOON, NOON + 400 * DAY])
def test_a_reading_is_heard_whatever_its_timestamp(stamp: int) -> None:
    """A producer's timestamp may be missing, years old or years ahead: the reading of now is heard."""
    bed = Bed()
    bed.send(NOON, stamp)
    assert [heard.record.at for heard in bed.heard()] == [NOON]


@pytest.mark.parametrize("stamp", [NOON, NOON + 400 * DAY])
def test_a_reading_of_next_year_is_refused(stamp: int) -> None:
    """It would be the newest for a year; the same clock having stamped the record makes it no truer."""
    bed = Bed()
    bed.send(NOON + 400 * DAY, stamp)
    assert [letter.reason for letter in bed.letters()] == [Reason.IN_FUTURE]


def test_an_order_goes_to_the_scope_that_gateways_look_up() -> None:
    """However an operator spells an address, there is one book of it."""
    bed = Bed()
    order = {"type": "control", "id": "c", "ts": NOON / 1000, "by": "ann", "why": "drill", "action": "ban"}
    bed.partition.append(json.dumps(order | {"scope": "ip:203.0.113.9/24"}).encode(), NOON)
    bed.partition.handle(1)
    bed.flush()
    assert [fact.scope for fact in bed.heard()] == ["ip:203.0.113.0/24"]


def test_an_order_that_binds_nobody_is_told() -> None:
    """No gateway looks up a /8: the dead letter says what it looks up."""
    bed = Bed()
    order = {"type": "control", "id": "c", "ts": NOON / 1000, "by": "ann", "why": "drill", "action": "ban"}
    bed.partition.append(json.dumps(order | {"scope": "ip:10.0.0.0/8"}).encode(), NOON)
    bed.partition.handle(1)
    bed.flush()
    (letter,) = bed.letters()
    assert letter.reason is Reason.BAD_VALUE
    assert "/24" in letter.detail
