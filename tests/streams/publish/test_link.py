"""A Redis that cannot do the work is refused with a sentence for the operator; one that can answers what is asked."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import pytest
from redis.exceptions import ResponseError

from streams.publish.client import open_redis
from streams.publish.link import Link, UnsuitableRedisError, check
from streams.publish.scripts import HEARTBEAT, Call, Script
from tests.streams.publish.redis_server import RedisServer, free_port

CLUSTER = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))


@pytest.mark.redis7
async def test_a_cluster_is_refused(start_debian: Callable[..., RedisServer]) -> None:
    """At connect, naming the reason and the way out."""
    server = start_debian(*CLUSTER)
    async with open_redis(server.url) as client:
        with pytest.raises(UnsuitableRedisError, match=r"Redis Cluster is not supported.*Sentinel"):
            await Link(client, 2.0).greet()


@pytest.mark.redis7
async def test_a_cluster_ends_the_publisher(
    start_debian: Callable[..., RedisServer], hire: Callable[..., object]
) -> None:
    """Trying again would not help, so the process is told."""
    server = start_debian(*CLUSTER)
    desk = hire(server.url)
    with pytest.raises(UnsuitableRedisError):
        await desk.task
    desk.dead = True


@pytest.mark.parametrize("version", ["6.0.16", "5.0.14", "2.8"])
def test_an_old_server_is_refused(version: str) -> None:
    """Before 6.2 a number and its end cannot be written in one step."""
    with pytest.raises(UnsuitableRedisError, match=version):
        check({"redis_mode": "standalone", "redis_version": version})


@pytest.mark.parametrize("version", ["6.2.14", "7.0.15", "8.0.1", "255.255.255", ""])
def test_other_servers_are_taken(version: str) -> None:
    """Standalone and behind Sentinel; a server that hides its version is given a try."""
    check({"redis_mode": "standalone", "redis_version": version})


async def test_what_is_missing_is_found(server: RedisServer) -> None:
    """Among more keys than one command reads."""
    names = [f"k{place}" for place in range(1_200)]
    with server.client() as redis:
        redis.mset(dict.fromkeys(names, 1))
        redis.delete("k3", "k700", "k1199")
    async with open_redis(server.url) as client:
        assert await Link(client, 2.0).missing(names) == ["k3", "k700", "k1199"]


async def test_counters_are_added_up(server: RedisServer) -> None:
    """What is missing or no whole number counts as nothing."""
    with server.client() as redis:
        redis.mset({f"k{place}": 2 for place in range(1_100)} | {"x": "many", "y": "-5", "z": "1e3"})
    async with open_redis(server.url) as client:
        names = [*(f"k{place}" for place in range(1_100)), "x", "y", "z", "missing"]
        assert await Link(client, 2.0).total(names) == 2_195


@pytest.mark.parametrize("turns", range(30))
async def test_a_cancellation_is_never_swallowed(server: RedisServer, turns: int) -> None:
    """Stopping the process ends the publisher wherever it is, also in the middle of connecting."""
    async with open_redis(server.url) as client:
        link = Link(client, 2.0)

        async def work() -> None:
            while True:
                await link.missing(["x"])

        task = asyncio.ensure_future(work())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=2)
        assert task.cancelled()


ECHO = "return {KEYS[1], ARGV}"
SLOW = "for _ = 1, 2000000 do end return 'slow'"


def script(text: str) -> Script:
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


async def test_scripts_are_answered_in_their_order(server: RedisServer) -> None:
    """Whatever stands in keys and arguments; an error reply stands in its place, and the others are answered."""
    async with open_redis(server.url) as client:
        await client.script_load(ECHO)
        words = ("", "a b", "\r\n$1\r\n", "用尽", "\ud800")
        calls = [Call(script(ECHO), (word,), (word, 7)) for word in words]
        answers = await Link(client, 2.0).call([*calls, Call(script("return 1"), (), ()), calls[1]])
    told = [word.encode(errors="replace").decode() for word in words]
    assert answers[: len(words)] == [[word, [word, "7"]] for word in told]
    assert isinstance(answers[-2], ResponseError)
    assert answers[-1] == ["a b", ["a b", "7"]]


async def test_who_gives_up_leaves_no_answer_behind(server: RedisServer) -> None:
    """The next who asks hears what he asked for, wherever the one before him stopped."""
    async with open_redis(server.url) as client:
        await client.script_load(ECHO)
        await client.script_load(SLOW)
        link = Link(client, 20.0)
        for turns in range(20):
            asking = asyncio.ensure_future(link.call([Call(script(SLOW), (), ()), Call(script(ECHO), ("old",), ())]))
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            assert await link.call([Call(script(ECHO), ("new",), ())]) == [["new", []]]


def test_a_call_as_redis_reads_it() -> None:
    """The length of a word is that of its bytes."""
    wire = Call(HEARTBEAT, ("键",), ("é", 12)).to_wire()
    head = b"*6\r\n$7\r\nEVALSHA\r\n$40\r\n%b\r\n" % HEARTBEAT.sha.encode()
    assert wire == head + "$1\r\n1\r\n$3\r\n键\r\n$2\r\né\r\n$2\r\n12\r\n".encode()
