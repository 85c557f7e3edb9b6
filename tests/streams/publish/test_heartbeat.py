"""A beat tells whether Redis is still the one that holds what we wrote."""

from __future__ import annotations

import pytest
from blastdoor_gateway.contract import Keys

from rules.moment import HOUR
from streams.publish.client import open_redis
from streams.publish.heartbeat import Heartbeat
from streams.publish.link import Link
from tests.streams.publish.conftest import Clock
from tests.streams.publish.redis_server import RedisServer


async def _heart(link: Link, clock: object) -> Heartbeat:
    await link.greet()
    heart = Heartbeat(link, Keys(), clock, "w1", "0.1.0")
    await heart.beat()
    return heart


@pytest.mark.embedded
async def test_another_server_under_the_same_address_is_noticed(own_servers: list[RedisServer], clock: object) -> None:
    """After a failover or a restart from an old snapshot our field may be there and the latest writes may not."""
    server = own_servers[0]
    async with open_redis(server.url) as client:
        link = Link(client, 2.0)
        heart = await _heart(link, clock)
        assert await heart.beat()
        with server.client() as redis:
            snapshot = redis.hgetall(Keys().engine)
        server.stop()
        server.start()
        with server.client() as redis:
            redis.hset(Keys().engine, mapping=snapshot)
        await link.hang_up()
        await link.greet()
        assert not await heart.beat()
        assert await heart.beat()


async def test_lost_data_are_noticed(server: RedisServer, clock: object) -> None:
    """The same server, flushed: our own field is gone, though another worker has written the key again."""
    async with open_redis(server.url) as client:
        heart = await _heart(Link(client, 2.0), clock)
        with server.client() as redis:
            redis.flushall()
            redis.hset(Keys().engine, "worker:w2", "1")
        assert not await heart.beat()
        assert await heart.beat()


@pytest.mark.parametrize("ahead", [-HOUR, 0, HOUR])
async def test_clocks_are_compared(server: RedisServer, clock: Clock, ahead: int) -> None:
    """The offset is never more than the clocks really differ; how much less depends on how long the answer took."""
    clock.move(-ahead)
    async with open_redis(server.url) as client:
        heart = await _heart(Link(client, 2.0), clock)
        assert ahead - HOUR // 2 < heart.offset <= ahead
