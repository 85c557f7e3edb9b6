"""The survey of `daily_usage` keys."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from blastdoor_gateway.contract import Keys
from redis import Redis

from streams.publish.client import open_redis
from streams.publish.daily import MANY, DailyUsage, Found
from streams.publish.link import Link
from tests.streams.publish.redis_server import RedisServer

MONDAY, TUESDAY, WEDNESDAY = "2026-08-10", "2026-08-11", "2026-08-12"
KEYS = Keys(legacy_prefix="bd[1]*:")


@pytest.fixture
async def daily(server: RedisServer) -> AsyncIterator[DailyUsage]:
    """Nothing surveyed yet, under a prefix full of wildcards."""
    async with open_redis(server.url) as client:
        yield DailyUsage(Link(client, 2.0), KEYS)


def put(redis: Redis, day: str, hashes: int, first: int = 0) -> tuple[str, ...]:
    """Counters of model `m` with 5 tokens each; returns their names."""
    names = sorted(KEYS.daily_usage(day, "m", f"h{place:04d}") for place in range(first, first + hashes))
    redis.mset(dict.fromkeys(names, 5))
    return tuple(names)


async def test_finds_its_own_keys_only(daily: DailyUsage, redis: Redis) -> None:
    """A prefix is taken literally, and other models are left out."""
    redis.mset({f"bd1:daily_usage:{MONDAY}:m:x": 1, KEYS.daily_usage(MONDAY, "n", "x"): 1})
    names = put(redis, MONDAY, 3)
    assert await daily.survey({MONDAY}, {"m"})
    assert daily.found(MONDAY, "m") == Found(names, 0)
    assert daily.found(MONDAY, "n") == Found((), 0)


async def test_tells_whether_there_was_news(daily: DailyUsage, redis: Redis) -> None:
    """The first survey always is; later ones if they find a key."""
    assert await daily.survey({MONDAY}, {"m"})
    assert not await daily.survey({MONDAY}, {"m"})
    put(redis, MONDAY, 1)
    assert await daily.survey({MONDAY}, {"m"})
    assert not await daily.survey({MONDAY}, {"m"})


async def test_a_new_day_begins_with_the_hashes_of_the_last(daily: DailyUsage, redis: Redis) -> None:
    """Before anything of the day is surveyed its counters are read under the names of yesterday; older ones go."""
    put(redis, MONDAY, 2)
    await daily.survey({MONDAY}, {"m"})
    tuesday = tuple(KEYS.daily_usage(TUESDAY, "m", f"h{place:04d}") for place in range(2))
    assert daily.found(TUESDAY, "m") == Found(tuesday, 0)
    await daily.survey({TUESDAY}, {"m"})
    await daily.survey({WEDNESDAY}, {"m"})
    assert daily.found(WEDNESDAY, "m") == Found((), 0)


async def test_many_are_added_up(daily: DailyUsage, redis: Redis) -> None:
    """Up to MANY are read with the write; more are summed, and after a loss nothing is known until the next survey."""
    names = put(redis, MONDAY, MANY)
    await daily.survey({MONDAY}, {"m"})
    assert daily.found(MONDAY, "m") == Found(names, 0)
    put(redis, MONDAY, 1, first=MANY)
    await daily.survey({MONDAY}, {"m"})
    assert daily.found(MONDAY, "m") == Found((), 5 * (MANY + 1))
    daily.distrust()
    assert daily.found(MONDAY, "m") is None


async def test_yesterdays_hashes_never_hide_todays(daily: DailyUsage, redis: Redis) -> None:
    """Both days together are too many: today's own are read."""
    put(redis, MONDAY, MANY, first=MANY)
    await daily.survey({MONDAY}, {"m"})
    names = put(redis, TUESDAY, 7)
    await daily.survey({TUESDAY}, {"m"})
    assert daily.found(TUESDAY, "m") == Found(names, 0)
