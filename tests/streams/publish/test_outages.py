"""A Redis that is gone, or does not answer: the judge notices nothing, and the newest decision stands afterwards."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

import pytest
from blastdoor_gateway.contract import Decision, Keys
from redis.exceptions import RedisError

from streams.publish.observer import Trouble
from streams.publish.pace import Pace
from tests.streams.publish.redis_server import RedisServer

Make = Callable[..., Decision]
Until = Callable[..., Awaitable[None]]
OTHERS = 300

pytestmark = pytest.mark.embedded


class Judge:
    """Decides about one model every 20 ms and keeps an eye on how long it is held up."""

    def __init__(self, desk: object, decide: Make) -> None:
        self._desk = desk
        self._decide = decide
        self.newest = decide(n=0)
        self.slowest_offer = 0.0
        self.slowest_turn = 0.0

    async def work(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        for n in itertools.count(self.newest.version[1] + 1):
            began = time.perf_counter()
            if began > end:
                return
            self.newest = self._decide(n=n)
            self._desk.publisher.offer(self.newest)
            self.slowest_offer = max(self.slowest_offer, time.perf_counter() - began)
            await asyncio.sleep(0.02)
            self.slowest_turn = max(self.slowest_turn, time.perf_counter() - began)


def held(server: RedisServer, scope: str) -> Decision | None:
    """What a gateway reads; None while Redis is away or has nothing."""
    try:
        with server.client() as client:
            stored = client.hgetall(Keys().decision(scope))
    except RedisError:
        return None
    return Decision.from_hash(stored) if stored else None


async def outlive(
    servers: list[RedisServer], hire: Callable[..., object], decide: Make, until: Until, outage: object
) -> None:
    """On every server: decide before, during and after `outage`; the newest of all scopes must stand afterwards."""
    desks = [hire(server.url) for server in servers]
    judges = [Judge(desk, decide) for desk in desks]
    for desk in desks:
        for place in range(OTHERS):
            desk.publisher.offer(decide(f"user:a/{place}"))
        await desk.publisher.settle()
    seconds, down, up = outage
    for server in servers:
        down(server)
    await asyncio.gather(*(judge.work(seconds) for judge in judges))
    assert all(desk.seen.up is False for desk in desks)
    for server in servers:
        up(server)
    await asyncio.gather(*(judge.work(0.2) for judge in judges))
    for server, desk, judge in zip(servers, desks, judges, strict=True):
        await until(lambda server=server, judge=judge: held(server, "model:m") == judge.newest)
        await desk.publisher.settle()
        assert all(held(server, f"user:a/{place}") for place in range(OTHERS))
        assert held(server, "model:m") == judge.newest
        assert desk.seen.most_waiting <= OTHERS + 1
        assert desk.seen.up
        assert judge.slowest_offer < 0.5  # it waits for nobody; its speed is the bench's to show
        assert judge.slowest_turn < 0.5


async def test_a_redis_stopped_for_three_seconds(
    own_servers: list[RedisServer], hire: Callable[..., object], decide: Make, until: Until
) -> None:
    """It comes back empty: everything is written again, in its newest form."""
    await outlive(own_servers, hire, decide, until, (3.0, RedisServer.stop, RedisServer.start))


async def test_a_redis_frozen_for_eight_seconds(
    own_servers: list[RedisServer], hire: Callable[..., object], decide: Make, until: Until
) -> None:
    """It keeps connections and answers nothing; what it finds in them on waking up changes nothing any more."""
    await outlive(own_servers, hire, decide, until, (8.0, RedisServer.freeze, RedisServer.thaw))


async def test_what_is_wrong_is_told_in_few_words(
    own_servers: list[RedisServer],
    hire: Callable[..., object],
    decide: Make,
    until: Until,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A kind for the metric and a line in the log, which never holds the address: it may carry a password."""
    server = own_servers[0]
    with server.client() as redis:
        redis.config_set("requirepass", "hunter2")
    desk = hire(server.url.replace("redis://", "redis://:hunter2@"), pace=Pace(beat=0.1))
    desk.publisher.offer(decide())
    await desk.publisher.settle()
    server.stop()
    await until(lambda: Trouble.CONNECTION in desk.seen.troubles)
    assert desk.seen.up is False
    assert "Redis cannot be used" in caplog.text
    assert "hunter2" not in caplog.text
    assert str(server.port) not in caplog.text


async def test_a_full_redis_is_trouble_and_no_end(
    own_servers: list[RedisServer], hire: Callable[..., object], decide: Make, until: Until
) -> None:
    """Out of memory: the publisher says so, waits, and writes once there is room."""
    server = own_servers[0]
    desk = hire(server.url, pace=Pace(beat=0.1))
    with server.client() as redis:
        redis.config_set("maxmemory", 1)
        desk.publisher.offer(decide())
        await until(lambda: Trouble.REPLY in desk.seen.troubles)
        redis.config_set("maxmemory", 0)
        await until(lambda: held(server, "model:m") == decide())
