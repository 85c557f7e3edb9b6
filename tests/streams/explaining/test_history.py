"""The decision that was in force at an instant, found in a history on the broker."""

from __future__ import annotations

import asyncio
import itertools
from datetime import datetime, timedelta

import pytest
from aiokafka import AIOKafkaProducer
from blastdoor_gateway.contract import SCHEMA, Action, Decision, UnknownSchemaError

from rules.moment import MINUTE, Millis, from_datetime
from streams.explaining import history
from streams.explaining.history import History
from streams.topics import Topics, ensure_topics

pytestmark = pytest.mark.embedded

START = datetime.fromisoformat("2026-08-13T08:00:00+08:00")
SCOPES = ("model:a", "model:b")
LENGTH = 300  # minutes
_numbers = itertools.count(1)


def at(minute: float) -> Millis:
    return from_datetime(START + timedelta(minutes=minute))


def decide(scope: str, minute: int) -> Decision:
    decided = (START + timedelta(minutes=minute)).isoformat()
    return Decision(
        scope=scope, action=Action.ALLOW, rule="r", reason=f"minute {minute}", day="2026-08-13", decided_at=decided,
        version=(1, minute + 1),
    )  # fmt: skip


async def write(kafka: str, topics: Topics, *, timed: bool) -> None:
    """A decision of both models every minute; what is no decision lies between."""
    await ensure_topics(kafka, topics.prefix, 2)
    async with AIOKafkaProducer(bootstrap_servers=kafka) as producer:
        sends = [await producer.send(topics.decisions, b"no decision", key=b"?", partition=p) for p in (0, 1)]
        for minute, scope in itertools.product(range(LENGTH), SCOPES):
            raw, when = decide(scope, minute).to_json(), at(minute) if timed else None
            sends.append(await producer.send(topics.decisions, raw, key=scope.encode(), timestamp_ms=when))
            if minute >= LENGTH - 2:
                sends.append(await producer.send(topics.decisions_latest, raw, key=scope.encode(), timestamp_ms=when))
        await asyncio.gather(*sends)


@pytest.fixture(params=[False, True], ids=["wall", "event"])
async def told(request: pytest.FixtureRequest, broker: str, monkeypatch: pytest.MonkeyPatch) -> History:
    """A history that is longer than one stretch; on event time its records were all written at once."""
    monkeypatch.setattr(history, "FIRST_STRETCH", 20)
    topics = Topics(f"history-{next(_numbers)}")
    await write(broker, topics, timed=not request.param)
    return History(broker, topics, event_clock=request.param)


async def test_the_newest_of_each_scope_is_known(told: History) -> None:
    """By version, with the place where it lies."""
    newest = await told.newest()
    assert {scope: kept.decision.reason for scope, kept in newest.items()} == dict.fromkeys(SCOPES, "minute 299")
    assert all(kept.origin.startswith(f"{kept.topic}/{kept.partition}/") for kept in newest.values())


async def test_the_newest_of_one_scope_is_found(told: History) -> None:
    """The same as among all; of what nothing was decided about there is none."""
    newest = await told.newest()
    for scope in SCOPES:
        assert await told.latest(scope) == newest[scope]
    assert await told.latest("model:c") is None


async def test_the_decision_in_force_is_the_last_before(told: History) -> None:
    """At any instant, far back and between two decisions; the other model's are not taken for it."""
    newest = (await told.newest())["model:b"]
    for minute in (0, 3.5, 120, 298.9, 299, 10_000):
        found = await told.in_force(newest, at(minute))
        assert found is not None
        assert found.decision.scope == "model:b"
        assert found.decision.reason == f"minute {min(299, int(minute))}"


async def test_before_the_first_nothing_was_in_force(told: History) -> None:
    """The history is looked through to its beginning."""
    assert await told.in_force((await told.newest())["model:a"], at(0) - MINUTE) is None


async def test_without_topics_there_is_no_history(broker: str) -> None:
    """Nothing is created, nothing is found."""
    assert await History(broker, Topics("never-written"), event_clock=False).newest() == {}


async def test_a_newer_engine_is_not_half_understood(broker: str) -> None:
    """Its decisions are refused, as a gateway refuses them."""
    topics = Topics(f"history-{next(_numbers)}")
    await ensure_topics(broker, topics.prefix, 1)
    raw = decide("model:a", 0).to_json().replace(b'"schema":%d' % SCHEMA, b'"schema":%d' % (SCHEMA + 1))
    async with AIOKafkaProducer(bootstrap_servers=broker) as producer:
        await producer.send_and_wait(topics.decisions_latest, raw, key=b"model:a")
    with pytest.raises(UnknownSchemaError):
        await History(broker, topics, event_clock=False).newest()
