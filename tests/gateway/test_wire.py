"""One connection for many callers: whoever gives up, however it breaks, nobody gets another's answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from blastdoor_gateway import admit_call
from blastdoor_gateway.admission import Outage
from blastdoor_gateway.answers import Fields
from blastdoor_gateway.link import Link, open_redis
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.patience import Patience
from blastdoor_gateway.scripts import ADMIT, Call, Words, script_of
from blastdoor_gateway.wire import Wire
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from tests.gateway.redis_of_ones_own import OwnRedis

ECHO = script_of("echo", "return {'said', ARGV[1]}")
PATIENCE = 30.0


def echo(said: object) -> Call:
    return Call(ECHO, (), (Words.of(str(said)),))


async def raw(wire: Wire, *words: str) -> Any:
    return await wire.ask(b"*%d\r\n" % len(words) + Words.of(*words).wire)


@pytest.fixture
async def link(url: str) -> AsyncIterator[Link]:
    """Patient: a slow test machine is no outage."""
    found = Link(open_redis(url, PATIENCE), PATIENCE, Patience(Observer()))
    yield found
    await found.close()


@pytest.fixture
async def wire(own_redis: OwnRedis) -> AsyncIterator[Wire]:
    client = open_redis(own_redis.url, PATIENCE)
    found = await Wire.open(client)
    yield found
    await found.close()
    await client.aclose()


async def _answered(link: Link, text: str) -> None:
    """However long it takes."""
    for pause in [0.02] * 3_000:
        found = await link.ask(echo(text))
        if not isinstance(found, Outage):
            assert found["said"] == text
            return
        await asyncio.sleep(pause)
    pytest.fail("Redis does not answer")


def _connections(client: Redis) -> int:
    """How many there have ever been."""
    return int(client.info("stats")["total_connections_received"])


def said(found: Fields | Outage) -> str:
    assert not isinstance(found, Outage)
    return str(found["said"])


async def test_everybody_gets_his_own_answer(link: Link, redis: Redis) -> None:
    """A thousand at once wait for their turn, over one connection; none fails for want of one."""
    before = _connections(redis)
    answers = await asyncio.gather(*(link.ask(echo(number)) for number in range(1_000)))
    assert [said(found) for found in answers] == [str(number) for number in range(1_000)]
    assert _connections(redis) == before + 1


async def test_text_of_any_kind_arrives(link: Link) -> None:
    """Lengths are of bytes; what is no text is replaced, not an error."""
    for text in ("", "用尽", "a\r\nb", "$5\r\n"):
        assert said(await link.ask(echo(text))) == text
    assert said(await link.ask(echo("\ud800"))) == "?"


async def test_who_gives_up_leaves_no_answer_behind(wire: Wire, own_redis: OwnRedis) -> None:
    """Cancelled while Redis stands still: the answer is read and dropped, the next one gets his own."""
    own_redis.freeze()
    gone = [asyncio.create_task(raw(wire, "ECHO", f"gone-{number}")) for number in range(5)]
    await asyncio.sleep(0)
    stays = asyncio.create_task(raw(wire, "ECHO", "stays"))
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    await asyncio.wait(gone)
    own_redis.thaw()
    assert await stays == "stays"
    assert await raw(wire, "ECHO", "next") == "next"
    assert all(task.cancelled() for task in gone)


async def test_an_error_is_its_askers_alone(wire: Wire) -> None:
    """Others on the wire do not notice."""
    asked = (raw(wire, "ECHO", "a"), raw(wire, "NONSENSE"), raw(wire, "ECHO", "b"))
    first, error, last = await asyncio.gather(*asked, return_exceptions=True)
    assert (first, last) == ("a", "b")
    assert isinstance(error, ResponseError)
    assert wire.is_open


async def test_a_broken_connection_fails_all_who_wait(wire: Wire, own_redis: OwnRedis) -> None:
    """At once, and it takes no more questions."""
    own_redis.freeze()
    waiting = [asyncio.create_task(raw(wire, "ECHO", "x")) for _ in range(3)]
    await asyncio.sleep(0)
    own_redis.stop()
    done = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), PATIENCE)
    assert [type(error) for error in done] == [RedisConnectionError] * 3
    assert not wire.is_open


async def test_a_redis_that_was_started_again_is_found(own_redis: OwnRedis) -> None:
    """Whoever asks next opens another connection; it knows no script yet and is told the whole of it."""
    link = Link(open_redis(own_redis.url, PATIENCE), PATIENCE, Patience(Observer()))
    assert said(await link.ask(echo("before"))) == "before"
    wire = link._wire
    assert wire is not None
    own_redis.stop()
    await asyncio.wait_for(asyncio.wait([wire._reader]), PATIENCE)
    own_redis.start()
    assert said(await link.ask(echo("after"))) == "after"
    await link.close()


async def test_a_wire_on_which_somebody_waited_in_vain_is_left(own_redis: OwnRedis) -> None:
    """It takes no more questions, and is closed when nobody waits for it any more: not one piles up behind another."""
    link = Link(open_redis(own_redis.url, 0.2), 0.2, Patience(Observer()))
    await _answered(link, "first")
    wire = link._wire
    assert wire is not None
    own_redis.freeze()
    assert await link.ask(echo("in vain")) is Outage.SLOW
    assert not wire.is_open
    await asyncio.wait_for(asyncio.wait([wire._reader]), PATIENCE)
    own_redis.thaw()
    await _answered(link, "again")
    await link.close()


async def test_one_who_waits_still_may_be_answered(wire: Wire, own_redis: OwnRedis) -> None:
    """A wire that was left closes when the last who waits on it has his answer."""
    own_redis.freeze()
    waiting = asyncio.create_task(raw(wire, "ECHO", "late"))
    await asyncio.sleep(0)
    wire.retire()
    assert not wire.is_open
    own_redis.thaw()
    assert await asyncio.wait_for(waiting, PATIENCE) == "late"
    await asyncio.wait_for(asyncio.wait([wire._reader]), PATIENCE)


async def test_those_who_come_first_open_one_connection(own_redis: OwnRedis) -> None:
    """Even when the one who began to open it goes away."""
    link = Link(open_redis(own_redis.url, PATIENCE), PATIENCE, Patience(Observer()))
    with Redis.from_url(own_redis.url) as client:
        before = _connections(client)
    first = asyncio.create_task(link.ask(echo("first")))
    others = [asyncio.create_task(link.ask(echo(number))) for number in range(5)]
    await asyncio.sleep(0)
    first.cancel()
    assert [said(found) for found in await asyncio.gather(*others)] == [str(number) for number in range(5)]
    with Redis.from_url(own_redis.url) as client:
        assert _connections(client) == before + 2  # with this one
    await link.close()


async def test_a_client_with_a_clock_of_its_own_is_not_cut_off(own_redis: OwnRedis) -> None:
    """A wire that nobody uses for longer than the client's `socket_timeout` stays: it has none."""
    client = open_redis(own_redis.url, PATIENCE)
    client.connection_pool.connection_kwargs["socket_timeout"] = PATIENCE
    wire = await Wire.open(client)
    assert wire._connection.socket_timeout is None
    await wire.close()
    await client.aclose()


def test_the_script_has_the_order_of_its_caller() -> None:
    """Names in admit.lua, in their places, are those that admit_call.py puts there."""
    text = ADMIT.text[ADMIT.text.index("-- Admits a call") :]
    keys, args, call, rules = (
        re.findall(r"\w+", text[text.rindex("local ", 0, end) + 6 : text.rindex("=", 0, end)])
        for end in (text.index("unpack(KEYS)"), text.index("unpack(ARGV)"), text.index("'<ddddd'"),
                    text.index("'<ddddddddddddddd'"))
    )  # fmt: skip
    own = [name if name.startswith(("own_", "budget_", "rate_", "topups_", "held_", "quota")) else f"{name}_key"
           for name in admit_call.KEYS]  # fmt: skip
    assert keys == ["nobody", *own, "settled", "answer_same", "answer_near"]
    assert args[-8:] == [name.replace("decision_ip", "ban") for name in admit_call.READ]
    assert (len(args), len(call), len(rules)) == (21, 5, admit_call.RULES.size // 8)
    assert [one for one, other in pairwise(args) if one == other] == []
