"""The loop around a provider, on a real Redis, with time by hand: who asks, when, and what is sent."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from redis.asyncio import Redis

from rules.moment import MINUTE, SECOND, Millis
from rules.polling import Pace, Polled, Sight
from rules.providers.answer import Answer, Balance, Failure, permanent, temporary
from rules.records import Reading
from streams.poll.lease import Lease
from streams.poll.metrics import PollMetrics
from streams.poll.poller import Desk, Poller
from streams.publish.client import open_redis

pytestmark = pytest.mark.embedded
_numbers = itertools.count(1)
BEGIN: Millis = 1_786_590_000_000


@dataclass
class World:
    """A provider that answers as planned, and what came of it."""

    redis: Redis
    prefix: str
    now: Millis = BEGIN
    asked: list[Millis] = field(default_factory=list)
    plan: list[Answer | Failure] = field(default_factory=list)
    sent: list[Reading] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    sights: list[Sight] = field(default_factory=list)
    during: Callable[[], Awaitable[object]] | None = None

    async def ask(self) -> Answer | Failure:
        self.asked.append(self.now)
        if self.during is not None:
            await self.during()
        planned = self.plan.pop(0) if self.plan else None
        balance = Balance(model="flash", available=5)
        return planned or Answer(asked_at=self.now, at=self.now + 900, balances=(balance,))

    async def close(self) -> None:
        """Nothing is open."""

    def poller(self, owner: str = "one", holds: float = 30) -> Poller:
        lease = Lease(self.redis, self.prefix, "ark", owner, holds=holds, monotonic=lambda: self.now / 1000)
        return Poller(
            Desk(
                name="ark",
                pace=Pace(),
                provider=self,
                lease=lease,
                models=frozenset({"flash"}),
                look=self._look,
                send=self._send,
                stopped=self._stopped,
                metrics=PollMetrics(),
                clock=lambda: self.now,
            )
        )

    async def until(self, poller: Poller, end: Millis, step: Millis = 5 * SECOND) -> None:
        """Let time pass up to `end` after the beginning."""
        while self.now < BEGIN + end:
            await poller.turn()
            self.now += step

    async def _look(self, _: object) -> Sequence[Sight]:
        return self.sights

    async def _send(self, found: Sequence[Reading]) -> None:
        self.sent += found

    async def _stopped(self, provider: str, failure: Failure) -> None:
        self.stops.append(f"{provider}: {failure}")


@pytest.fixture
async def world(redis_url: str) -> AsyncIterator[World]:
    redis = open_redis(redis_url)
    yield World(redis, f"poll-{next(_numbers)}")
    await redis.aclose()


async def test_readings_come_at_the_regular_rhythm(world: World) -> None:
    """At once, then every half hour; each with the time of the question and of the answer."""
    await world.until(world.poller(), 61 * MINUTE)
    assert [(at - BEGIN) // MINUTE for at in world.asked] == [0, 30, 60]
    first = world.sent[0]
    assert (first.model, first.available, first.source) == ("flash", 5, "ark")
    assert (first.asked_at, first.at) == (BEGIN, BEGIN + 900)


async def test_a_burst_is_answered_at_once(world: World) -> None:
    """A tenth of the pool used since the last poll makes the next one due within a tick."""
    sight = Sight(model="flash", used=0, counted=0, wall="pool", limit=990, pool_low=1000, pool_high=1000)
    world.sights = [sight]
    poller = world.poller()
    await world.until(poller, 5 * MINUTE)
    world.sights = [Sight(model="flash", used=100, counted=100, wall="pool", limit=990, pool_low=1000, pool_high=1000)]
    await world.until(poller, 6 * MINUTE)
    assert [(at - BEGIN) // SECOND for at in world.asked] == [0, 300]


async def test_a_failed_poll_is_no_reading(world: World) -> None:
    """Nothing is sent, least of all a zero; it is tried again after 15 s, 30 s, then regularly."""
    world.plan = [temporary("HTTP 500"), temporary("Timeout")]
    await world.until(world.poller(), 10 * MINUTE)
    assert [(at - BEGIN) // SECOND for at in world.asked] == [0, 15, 45]
    assert len(world.sent) == 1


async def test_a_permanent_failure_stops_and_is_told_once(world: World) -> None:
    """A wrong key is tried once in an hour, not a hundred times."""
    world.plan = [permanent("InvalidAccessKey")]
    poller = world.poller()
    await world.until(poller, 60 * MINUTE)
    assert (len(world.asked), world.sent, world.stops) == (1, [], ["ark: InvalidAccessKey"])
    assert poller.stopped is not None
    assert world.poller().stopped is None


async def test_of_many_pollers_one_asks(world: World) -> None:
    """The others wait; when the one is gone another takes over and keeps to the rhythm."""
    one, two = world.poller("one"), world.poller("two")
    for _ in range(30):
        await one.turn()
        await two.turn()
        world.now += MINUTE
    assert len(world.asked) == 1
    await one._leave()
    await world.until(two, 61 * MINUTE)
    assert [(at - BEGIN) // MINUTE for at in world.asked] == [0, 30, 60]


async def test_an_answer_after_the_lease_has_ended_is_thrown_away(world: World) -> None:
    """Somebody else may have asked meanwhile: nothing of a former holder is sent or remembered."""
    poller = world.poller()

    async def overtaken() -> None:
        world.now += MINUTE
        await world.redis.set(f"{world.prefix}:poll:ark:lease", "another")

    world.during = overtaken
    await poller.turn()
    assert (len(world.asked), world.sent) == (1, [])
    world.during = None
    await world.until(world.poller("another"), 2 * MINUTE)
    assert len(world.sent) == 1


async def test_a_former_holder_cannot_move_the_place(world: World) -> None:
    """What is remembered carries a fencing number: an older one is refused."""
    old = Lease(world.redis, world.prefix, "ark", "old", holds=30)
    assert await old.take()
    await world.redis.delete(f"{world.prefix}:poll:ark:lease")
    new = Lease(world.redis, world.prefix, "ark", "new", holds=30)
    assert await new.take()
    assert new.fence > old.fence
    assert await new.remember(Polled(at=2))
    assert not await old.remember(Polled(at=1))
    assert await new.place() == Polled(at=2)
    await old.give_back()
    assert await new.take()


async def test_without_redis_nobody_is_asked(world: World) -> None:
    """No gateway reads a decision meanwhile; a poller that starts then waits, and does not end."""
    away = replace(world, redis=open_redis("redis://127.0.0.1:1/0"))
    await away.poller().turn()
    assert away.asked == []
