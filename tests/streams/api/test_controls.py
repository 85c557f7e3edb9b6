"""`POST /v1/controls`: one order, once for an id, and only from who may."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from rules.policy import Sender
from rules.records import Control
from streams.api.controls import MOST_BYTES, Controls
from streams.api.door import Door
from streams.api.server import serve
from streams.api.sink import Sink
from streams.embedded.server import free_port
from streams.metrics import Metrics
from streams.orders.archive import Archive
from streams.topics import Topics, ensure_topics
from tests.streams.api.conftest import AT, GATEWAY, OPERATOR, SENDERS, Reply
from tests.streams.ship.conftest import Target

pytestmark = pytest.mark.embedded

ZONE = ZoneInfo("Asia/Shanghai")
LIMITED = "limited-token-0123456789"
KILL = {"action": "kill", "scope": "global", "why": "a leaked key"}


class Client:
    """Orders over HTTP."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session

    async def post(self, body: object, token: str | None = OPERATOR, **headers: str) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with self._session.post(self._url, data=raw, headers=given) as response:
            return Reply(response.status, dict(response.headers), await response.text())


async def served(kafka: str, prefix: str, sink: Sink) -> AsyncIterator[Client]:
    door = Door([*SENDERS, Sender(name="limited", token=LIMITED, may=("controls",))])
    topics = Topics(prefix)
    archive = Archive(kafka, topics, ZONE)
    controls = Controls(door, ZONE, topics, archive, sink, Metrics(), lambda: AT)
    address = f"127.0.0.1:{free_port()}"
    runner = await serve(address, Metrics().registry, lambda: True, controls.routes())
    async with aiohttp.ClientSession() as session:
        yield Client(f"http://{address}/v1/controls", session)
    await runner.cleanup()
    await sink.close()


@pytest.fixture
async def client(target: Target) -> AsyncIterator[Client]:
    partitions = await ensure_topics(target.kafka, target.prefix)
    async for client in served(target.kafka, target.prefix, Sink(target.kafka, partitions)):
        yield client


@pytest.fixture
async def again(client: Client, target: Target) -> AsyncIterator[Client]:
    """Another worker, or the same after a restart: it shares nothing but Kafka."""
    async for other in served(target.kafka, target.prefix, Sink(target.kafka, 8)):
        yield other


async def test_an_order_is_on_kafka_when_the_answer_comes(client: Client, target: Target) -> None:
    """202 with its id; who sent it and when is filled in, and its scope is the key."""
    reply = await client.post(KILL, Idempotency_Key="k-1")
    assert (reply.status, reply.json) == (202, {"id": "k-1"})
    (record,) = await target.read_all(target.topics.controls)
    assert record.key == b"global"
    stored = json.loads(record.value)
    assert (stored["id"], stored["by"], stored["why"]) == ("k-1", "ops", "a leaked key")
    assert ("origin", b"http:ops") in record.headers


async def test_a_repeat_does_nothing_again(client: Client, again: Client, target: Target) -> None:
    """200 with the place where it stands, also from a worker that never saw it; another order under its id is 409."""
    assert (await client.post(KILL | {"id": "k-1"})).status == 202
    for other in (client, again):
        reply = await other.post(KILL, Idempotency_Key="k-1")
        assert reply.status == 200
        assert reply.json["origin"].startswith(f"{target.topics.controls}/")
        assert (await other.post(KILL | {"scope": "tenant:t"}, Idempotency_Key="k-1")).status == 409
    assert len(await target.read_all(target.topics.controls)) == 1


async def test_a_calibration_is_an_order_too(client: Client, target: Target) -> None:
    """It needs a sender that may send balances as well, and goes where readings go."""
    order = {"type": "calibration", "id": "c-1", "model": "m", "day": "2026-08-13", "pool": 7, "why": "the console"}
    assert (await client.post(order, LIMITED)).status == 403
    assert (await client.post(order)).status == 202
    assert (await client.post(order)).status == 200
    (record,) = await target.read_all(target.topics.balances)
    assert json.loads(record.value)["why"] == "the console"


@pytest.mark.parametrize(
    ("body", "token", "status"),
    [
        pytest.param(KILL, None, 401, id="no token"),
        pytest.param(KILL, "wrong-token-0123456789", 401, id="a wrong token"),
        pytest.param(KILL, GATEWAY, 403, id="a sender that may send usage only"),
        pytest.param({"action": "kill", "scope": "global"}, OPERATOR, 400, id="no reason"),
        pytest.param(KILL | {"scope": "everything"}, OPERATOR, 400, id="no such scope"),
        pytest.param(KILL | {"scope": "model:m"}, OPERATOR, 400, id="nobody would heed it"),
        pytest.param(KILL | {"action": "topup", "tokens": 5}, OPERATOR, 400, id="global has no budget"),
        pytest.param(KILL | {"until": "2020-01-01T00:00:00Z"}, OPERATOR, 400, id="it would have ended before"),
        pytest.param(KILL | {"ts": "2099-01-01T00:00:00Z"}, OPERATOR, 400, id="ahead of the clock"),
        pytest.param(KILL | {"action": "explode"}, OPERATOR, 400, id="no such action"),
        pytest.param({"type": "clock", "ts": "2026-08-13T00:00:00Z"}, OPERATOR, 400, id="no order"),
        pytest.param(b"[]", OPERATOR, 400, id="no object"),
        pytest.param(b"\xff{", OPERATOR, 400, id="no text"),
        pytest.param(b"x" * (MOST_BYTES + 1), OPERATOR, 413, id="too large"),
    ],
)
async def test_what_is_refused_sends_nothing(
    client: Client, target: Target, body: object, token: str | None, status: int
) -> None:
    """A request without right or reason never reaches Kafka."""
    assert (await client.post(body, token)).status == status
    assert await target.read_all(target.topics.controls) == []


async def test_key_and_id_must_agree(client: Client) -> None:
    """Of two ids for one order none can be believed."""
    assert (await client.post(KILL | {"id": "a"}, Idempotency_Key="b")).status == 400


async def test_without_kafka_nothing_is_accepted() -> None:
    """503: an order is either on Kafka or was not taken."""
    async for client in served("127.0.0.1:1", "nobody", Sink("127.0.0.1:1", 8, patience=1.0)):
        assert (await client.post(KILL)).status == 503


async def test_an_order_that_was_not_confirmed_is_not_taken_for_sent(client: Client, target: Target) -> None:
    """Its id is claimed by nothing but the record itself: sent again it is new, and stands there once."""

    class Deaf(Sink):
        async def send(self, parcels: object) -> set[int]:  # noqa: ARG002
            return {0}

    async for deaf in served(target.kafka, target.prefix, Deaf(target.kafka, 8)):
        assert (await deaf.post(KILL, Idempotency_Key="k-1")).status == 503
    assert (await client.post(KILL, Idempotency_Key="k-1")).status == 202
    (record,) = await target.read_all(target.topics.controls)
    assert Control.__struct_config__.tag == json.loads(record.value)["type"]
