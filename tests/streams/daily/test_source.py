"""Counters become events, each token once, wherever the process dies and whoever else looks."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis

from rules.calendar import Calendar
from rules.legacy import GATE_DAYS
from rules.moment import HOUR
from rules.records import Usage
from streams.daily.source import DailySource
from streams.poll.lease import Lease

pytestmark = pytest.mark.embedded

NOON = 1_786_593_600_000
TODAY, YESTERDAY = GATE_DAYS.day(NOON), GATE_DAYS.previous(GATE_DAYS.day(NOON))
_numbers = itertools.count(1)


class CrashError(Exception):
    """The process dies."""


class Place:
    """Counters, and the events that a meter counts: the same id once."""

    def __init__(self, redis: Redis, prefix: str) -> None:
        self.redis, self.keys = redis, Keys(prefix, f"{prefix}-old:")
        self.events: dict[str, Usage] = {}
        self.sent = 0
        self.dies = ""
        self.now = NOON

    def source(self, *hashes: str, owner: str = "a") -> DailySource:
        lease = Lease(self.redis, self.keys.prefix, "daily", owner)
        return DailySource(self.redis, self.keys, "task", hashes, self.send, lease, lambda: self.now)

    async def send(self, event: Usage) -> None:
        if self.dies == "before":
            raise CrashError
        self.sent += 1
        self.events[event.id] = event
        if self.dies == "after":
            raise CrashError

    async def count(self, value: int, model: str = "m", key_hash: str = "h", day: str = TODAY) -> None:
        await self.redis.set(self.keys.daily_usage(day, model, key_hash), value)

    @property
    def tokens(self) -> int:
        return sum(event.total_tokens for event in self.events.values())


@pytest.fixture
async def place(redis_url: str) -> AsyncIterator[Place]:
    redis = Redis.from_url(redis_url, decode_responses=True)
    yield Place(redis, f"daily-{next(_numbers)}")
    await redis.aclose()


async def test_differences_are_told_once(place: Place) -> None:
    """With model, hash and gateway; a counter that stands still tells nothing."""
    source = place.source()
    for value in (100, 100, 250):
        await place.count(value)
        await source.turn()
    assert [event.total_tokens for event in place.events.values()] == [100, 150]
    (event, _) = place.events.values()
    assert (event.model, event.key_hash, event.source, event.at) == ("m", "h", "task", NOON)
    assert await place.redis.pttl(f"{place.keys.prefix}:counted:{TODAY}") > 0


@pytest.mark.parametrize("dies", ["before", "after"])
async def test_a_crash_tells_the_same_again_under_the_same_id(place: Place, dies: str) -> None:
    """Also when the counter went on meanwhile."""
    await place.count(100)
    place.dies = dies
    with pytest.raises(CrashError):
        await place.source().turn()
    place.dies = ""
    await place.count(170)
    source = place.source()
    await source.turn()
    await source.turn()
    assert place.tokens == 170


async def test_only_one_of_two_looks(place: Place) -> None:
    """The other takes over when the first gives the lease back."""
    first, second = place.source(owner="a"), place.source(owner="b")
    await place.count(100)
    await first.turn()
    await second.turn()
    assert place.sent == 1


async def test_a_counter_that_began_anew_is_new_usage(place: Place) -> None:
    """All of it, also where it stands as it once did."""
    source = place.source()
    for value in (100, 40, 100):
        await place.count(value)
        await source.turn()
    assert place.tokens == 100 + 40 + 60
    await place.count(0)
    await source.turn()
    await place.count(100)
    await source.turn()
    assert place.tokens == 300


async def test_hashes_of_other_sources_are_left_alone(place: Place) -> None:
    """Only those named; without names all, and what is no number never."""
    await place.count(100, key_hash="mine")
    await place.count(100, key_hash="theirs")
    await place.redis.set(place.keys.daily_usage(TODAY, "m", "odd"), "many")
    await place.source("mine").turn()
    assert [event.key_hash for event in place.events.values()] == ["mine"]
    await place.source().turn()
    assert sorted(event.key_hash for event in place.events.values()) == ["mine", "theirs"]


async def test_what_came_late_belongs_to_its_own_day(place: Place) -> None:
    """A counter of yesterday that rises after midnight is yesterday's usage."""
    await place.count(100, day=YESTERDAY)
    place.now = GATE_DAYS.start(TODAY) + HOUR
    await place.source().turn()
    (event,) = place.events.values()
    assert Calendar().day(event.at) == YESTERDAY


def test_what_is_told_twice_is_a_mistake_of_the_policy() -> None:
    """Beside other sources the hashes must be named, and none twice."""
    from rules.policy_check import check

    def said(**gateways: Any) -> list[str]:
        found = check({"gateways": gateways})
        return [str(fault) for fault in found] if isinstance(found, list) else []

    counting = {"usage": "daily_usage"}
    assert said(task=counting) == []
    (missing,) = said(task=counting, gate={"usage": "events"})
    assert missing.startswith("gateways.task.hashes: is missing")
    assert said(task=counting | {"hashes": ["h"]}, gate={"usage": "events"}) == []
    (twice,) = said(task=counting | {"hashes": ["h"]}, other=counting | {"hashes": ["h", "g"]})
    assert twice == "gateways.other.hashes: 'h' belongs to task already"
    (misplaced,) = said(gate={"usage": "events", "hashes": ["h"]})
    assert "belongs to a gateway with usage: daily_usage" in misplaced
