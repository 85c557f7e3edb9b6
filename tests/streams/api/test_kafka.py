"""The intake before a real broker: the answer comes after the acknowledgement, and totals are right."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from streams.api.sink import Sink
from streams.embedded import broker as embedded_broker
from streams.topics import ensure_topics
from tests.streams.api.conftest import Api, Start
from tests.streams.api.test_events import usage
from tests.streams.ship.conftest import Target

pytestmark = pytest.mark.embedded


async def totals(target: Target, at_least: int) -> dict[str, int]:
    """Tokens by event id: repeats are one."""
    records = await target.read_all(target.topics.usage, at_least)
    return {event["id"]: event["total_tokens"] for event in (json.loads(record.value) for record in records)}


async def test_events_are_on_kafka_when_the_answer_comes(kafka_api: Api, target: Target) -> None:
    """Keyed by id, so that a repeat meets its twin."""
    assert (await kafka_api.post(json.dumps([usage(n) for n in range(300)]))).status == 200
    records = await target.read_all(target.topics.usage)
    assert sorted(record.key.decode() for record in records) == sorted(f"u-{n}" for n in range(300))


async def test_a_trace_goes_on_to_kafka(kafka_api: Api, target: Target) -> None:
    """The request's trace context stands in the headers of its records; what is none does not."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for number, given in enumerate((trace, "nonsense")):
        await kafka_api.post(json.dumps(usage(number)), traceparent=given)
    records = await target.read_all(target.topics.usage)
    found = {record.key.decode(): dict(record.headers).get("traceparent") for record in records}
    assert found == {"u-0": trace.encode(), "u-1": None}


async def test_many_senders_at_once(kafka_api: Api, target: Target) -> None:
    """Each gets the answer about its own records."""
    bodies = [json.dumps([usage(100 * sender + n) for n in range(20)]) for sender in range(40)]
    replies = await asyncio.gather(*(kafka_api.post(body) for body in bodies))
    assert {(reply.status, reply.json["accepted"]) for reply in replies} == {(200, 20)}
    assert len(await totals(target, 800)) == 800


@pytest.fixture
def own_broker() -> Iterator[Any]:
    """A broker that a test may freeze."""
    server = embedded_broker.start()
    yield server
    server.child.kill()


async def test_while_the_broker_is_silent_nothing_is_acknowledged(start: Start, own_broker: Any) -> None:
    """503, and the events that were sent again count once."""
    target = Target(own_broker.address, "frozen")
    api = await start(
        Sink(target.kafka, await ensure_topics(target.kafka, target.prefix), patience=1.0), prefix="frozen"
    )
    assert (await api.post(json.dumps(usage(1)))).status == 200
    os.kill(own_broker.child.pid, signal.SIGSTOP)
    reply = await api.post(json.dumps([usage(2), usage(3)]))
    assert (reply.status, reply.json["accepted"]) == (503, 0)
    os.kill(own_broker.child.pid, signal.SIGCONT)
    assert (await api.post(json.dumps([usage(2), usage(3)]))).status == 200
    assert set(await totals(target, 3)) == {"u-1", "u-2", "u-3"}


async def test_a_broker_that_was_never_there(start: Start) -> None:
    """503 within the patience, again and again, without an exception."""
    api = await start(Sink("127.0.0.1:1", 8, patience=1.0))
    for _ in range(2):
        assert (await api.post(json.dumps(usage(1)))).status == 503
