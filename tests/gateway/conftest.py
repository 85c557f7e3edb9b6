"""Both servers a gate meets, guards on them whose clock the test moves, and decisions as an engine writes them."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.config import Gate
from blastdoor_gateway.contract import Action, Decision, Keys
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.link import open_redis
from redis import Redis

from streams.embedded import redis_server
from tests.gateway.redis_of_ones_own import OwnRedis

SERVERS = [
    pytest.param("embedded", marks=pytest.mark.embedded),
    pytest.param("redis7", marks=pytest.mark.redis7),
]

NOON = 1_786_593_600_000  # 2026-08-13T12:00:00+08:00
HOUR = 3_600_000


def binary_of(kind: str) -> Path:
    return redis_server.find_binary() if kind == "embedded" else Path(str(shutil.which("redis-server")))


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> str:
    """URL of an empty Redis, of each kind."""
    found: str = request.getfixturevalue("redis_url" if request.param == "embedded" else "redis7_url")
    with Redis.from_url(found) as client:
        client.flushall()
        client.script_flush()
    return found


@pytest.fixture
def redis(url: str) -> Iterator[Redis]:
    """The test's own view of it."""
    with Redis.from_url(url, decode_responses=True) as client:
        yield client


@pytest.fixture(params=SERVERS)
def own_redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OwnRedis]:
    """A Redis that the test may stop."""
    server = OwnRedis(binary_of(request.param), tmp_path)
    server.start()
    yield server
    server.stop()


class Clock:
    """Stands still unless it is moved."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def guard_on(clock: Clock) -> AsyncIterator[Callable[..., Guard]]:
    """Makes guards; all share the test's clock. A slow test machine is no outage: they wait for 5 s."""
    guards: list[Guard] = []

    def make(url: str, **options: Any) -> Guard:
        gate = Gate(**{"wait_seconds": 5.0, "per_ip": None, "per_user": None, "engine": None} | options)
        guards.append(Guard(open_redis(url, 5.0), gate, clock=clock))
        return guards[-1]

    yield make
    for guard in guards:
        await guard.close()


@pytest.fixture
def tell(redis: Redis, clock: Clock) -> Callable[..., Decision]:
    """Writes a decision and a fresh heartbeat, as the engine does."""

    def write(scope: str = "model:m", action: str = "allow", **fields: Any) -> Decision:
        plain = {
            "rule": "r", "reason": "because", "day": "2026-08-13", "decided_at": "2026-08-13T12:00:00.000+08:00",
            "version": (1, 1), "counter": "c1", "until": "2026-08-14T00:00:00.000+08:00",
        }  # fmt: skip
        decision = Decision(**{"scope": scope, "action": Action(action)} | plain | fields)
        keys = Keys()
        redis.delete(keys.decision(scope))
        redis.hset(keys.decision(scope), mapping=decision.to_hash())
        redis.hset(keys.engine, mapping={"at_ms": clock.now})
        return decision

    return write
