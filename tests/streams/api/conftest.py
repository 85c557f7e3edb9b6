"""The intake behind a real HTTP server, before a Kafka that is one or only says so."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from rules.intake.reader import Intake
from rules.policy import Sender
from streams.api.door import Door
from streams.api.events import Events
from streams.api.server import serve
from streams.api.sink import Sink
from streams.embedded.server import free_port
from streams.metrics import Metrics
from streams.ship.parcels import Addresser, Parcel
from streams.topics import Topics, ensure_topics
from tests.streams.ship.conftest import Target

AT = 1_786_590_000_000
GATEWAY, OPERATOR = "gateway-token-0123456789", "operator-token-0123456789"
SENDERS = [
    Sender(name="litellm", token=GATEWAY),
    Sender(name="ops", token=OPERATOR, may=("usage", "balances", "controls")),
]
_numbers = itertools.count(1)


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass
class MemorySink:
    """Acknowledges at once and remembers, unless told to lose parcels."""

    parcels: list[Parcel] = field(default_factory=list)
    lose: Callable[[Parcel], bool] = lambda _: False
    before: Callable[[], Awaitable[object]] | None = None

    async def send(self, parcels: Sequence[Parcel]) -> set[int]:
        if self.before is not None:
            await self.before()
        self.parcels += [parcel for parcel in parcels if not self.lose(parcel)]
        return {place for place, parcel in enumerate(parcels) if self.lose(parcel)}

    async def close(self) -> None:
        """Nothing is open."""


class Api:
    """A running server, and a client of it."""

    def __init__(self, url: str, session: aiohttp.ClientSession, events: Events, metrics: Metrics) -> None:
        self.url = url
        self.session = session
        self.events = events
        self.metrics = metrics

    async def post(
        self, body: bytes | str, path: str = "/v1/events", token: str | None = GATEWAY, **headers: str
    ) -> Reply:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        async with self.session.post(self.url + path, data=body, headers=given) as response:
            return Reply(response.status, dict(response.headers), await response.text())


Start = Callable[..., Awaitable[Api]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts the intake before a sink, with the two senders unless others are given."""
    started: list[Any] = []

    async def run(sink: Any, senders: Sequence[Sender] = SENDERS, prefix: str = "bd") -> Api:
        metrics = Metrics()
        addresser = Addresser(Topics(prefix))
        events = Events(Door(senders), Intake(ZoneInfo("Asia/Shanghai")), addresser, sink, metrics, lambda: AT)
        address = f"127.0.0.1:{free_port()}"
        runner = await serve(address, metrics.registry, lambda: True, events.routes())
        session = aiohttp.ClientSession()
        started.extend([session.close, runner.cleanup, events.close])
        return Api(f"http://{address}", session, events, metrics)

    yield run
    for stop in started:
        await stop()


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
async def api(start: Start, sink: MemorySink) -> Api:
    """The intake before a Kafka that is none."""
    return await start(sink)


@pytest.fixture
def target(broker: str) -> Target:
    return Target(broker, f"api-{next(_numbers)}")


@pytest.fixture
async def kafka_api(start: Start, target: Target) -> Api:
    """The intake before the embedded broker."""
    partitions = await ensure_topics(target.kafka, target.prefix)
    return await start(Sink(target.kafka, partitions), prefix=target.prefix)
