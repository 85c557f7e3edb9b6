"""Usage events wait, are tried again, and never hold up a request."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from aiohttp import web
from blastdoor_gateway.events.build import outbox_from
from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.events.http import HttpCarrier
from blastdoor_gateway.events.kafka import KafkaCarrier
from blastdoor_gateway.events.outbox import Batch, Outbox, UnusableError
from blastdoor_gateway.money import Tokens
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.settings import Settings

TS = "2026-08-13T11:08:00.123+08:00"


def event(number: int) -> UsageEvent:
    return UsageEvent(id=f"r{number}", ts=TS, model="m", tokens=Tokens(30, 10, 20, 4))


class Balky:
    """A carrier that fails at first."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.taken: list[str] = []
        self.closed = False

    async def deliver(self, batch: Batch) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError
        self.taken += [key.decode() for key, _ in batch]

    async def close(self) -> None:
        self.closed = True


class Heard(Observer):
    """Counts."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()

    def event(self, outcome: str) -> None:
        self.events[outcome] += 1


async def test_events_arrive_in_order_after_failures() -> None:
    """A failed delivery is tried again, in order, until it is taken."""
    carrier, heard = Balky(2), Heard()
    outbox = Outbox(carrier, heard)
    assert all(outbox.put(event(number)) for number in range(5))
    await outbox.close()
    assert (carrier.taken, carrier.closed) == ([f"r{number}" for number in range(5)], True)
    assert heard.events == {"failed": 2, "sent": 5}


async def test_a_batch_that_nobody_takes_does_not_stand_in_the_way() -> None:
    """What the other side calls unusable is dropped and counted; what comes after it is sent."""

    class Refuses(Balky):
        async def deliver(self, batch: Batch) -> None:
            if not self.taken:
                self.taken.append("refused")
                raise UnusableError
            await super().deliver(batch)

    carrier, heard = Refuses(0), Heard()
    outbox = Outbox(carrier, heard)
    outbox.put(event(1))
    await asyncio.sleep(0.01)
    outbox.put(event(2))
    await outbox.close()
    assert (carrier.taken, heard.events) == (["refused", "r2"], {"dropped": 1, "sent": 1})


async def test_too_many_events_are_dropped_and_counted() -> None:
    """Memory does not fill up: beyond the bound new events are dropped, and it is told."""
    heard = Heard()
    outbox = Outbox(Balky(10**9), heard, most=3)
    assert [outbox.put(event(number)) for number in range(5)] == [True, True, True, False, False]
    await outbox.close(within=0.01)
    assert (heard.events["dropped"], len(outbox)) == (2, 3)


async def test_events_by_http() -> None:
    """One JSON object a line, with the token; an error of the intake is tried again; no secret shows."""
    bodies: list[bytes] = []
    answers = [503, 302, 202]

    async def take(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer s3cret"
        bodies.append(await request.read())
        return web.Response(status=answers.pop(0), headers={"Location": "http://127.0.0.1:1/elsewhere"})

    application = web.Application()
    application.router.add_post("/v1/events", take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    carrier = HttpCarrier(f"http://127.0.0.1:{port}/v1/events", "s3cret")
    outbox = Outbox(carrier)
    outbox.put(event(1))
    outbox.put(event(2))
    await outbox.close()
    await runner.cleanup()
    assert "s3cret" not in repr(carrier)
    assert answers == []
    assert [json.loads(line)["id"] for line in bodies[-1].splitlines()] == ["r1", "r2"]


@pytest.mark.embedded
async def test_events_by_kafka(broker: str) -> None:
    """The key is the event's id; what arrives is what was sent."""
    from aiokafka import AIOKafkaConsumer

    from streams.topics import Topics, ensure_topics

    await ensure_topics(broker, "outbox-test", 1)
    outbox = Outbox(KafkaCarrier(broker, Topics("outbox-test").usage))
    for number in range(3):
        outbox.put(event(number))
    await outbox.close()
    consumer = AIOKafkaConsumer(Topics("outbox-test").usage, bootstrap_servers=broker, auto_offset_reset="earliest")
    await consumer.start()
    try:
        records = [await asyncio.wait_for(consumer.getone(), 10) for _ in range(3)]
    finally:
        await consumer.stop()
    assert [(record.key, json.loads(record.value)["id"]) for record in records] == [
        (b"r0", "r0"), (b"r1", "r1"), (b"r2", "r2"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("named", "carrier"),
    [({"kafka": "k:9092", "intake": "http://x"}, KafkaCarrier), ({"intake": "http://x"}, HttpCarrier), ({}, None)],
)
def test_the_way_that_is_named_is_taken(named: dict[str, Any], carrier: type | None) -> None:
    """Kafka where it is named, else the intake, else nobody is told."""
    outbox = outbox_from(Settings(**named), None)
    assert (outbox is None) if carrier is None else isinstance(outbox._carrier, carrier)  # type: ignore[union-attr]


def test_an_intake_is_a_web_address() -> None:
    """A URL of another kind is refused at once."""
    with pytest.raises(ValueError, match="http"):
        HttpCarrier("file:///etc/passwd")
