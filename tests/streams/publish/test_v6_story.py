"""An unchanged v6 gate lives on our keys: through a day, a block, a midnight and the death of the engine.

It is never told anything else, and never admits a call beyond our limit.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision
from msgspec.structs import replace
from redis import Redis

from rules.legacy import LegacyInput
from rules.moment import HOUR
from streams.publish.pace import Pace
from tests.gateway.v6_gate import V6Gate
from tests.streams.publish.redis_server import RedisServer

Make = Callable[..., Decision]
Hire = Callable[..., Any]
Until = Callable[..., Awaitable[None]]
MIDNIGHT = 1_786_636_800_000  # 2026-08-14T00:00:00+08:00
NOON, DAY, NEXT_DAY = MIDNIGHT - 12 * HOUR, "2026-08-13", "2026-08-14"
Story = Callable[..., tuple["Engine", V6Gate]]
CALL = 7_000


class Engine:
    """The judge's side of the story: what it knows of the model, and what it offers."""

    def __init__(self, desk: Any, decide: Make) -> None:
        self.desk = desk
        self._decide = decide
        self._n = 0
        self.known = LegacyInput(
            models=("m",), action="allow", limit=200_000, pool_low=400_000, used=0, balance=300_000, day=DAY, at=NOON
        )

    async def say(self, **news: Any) -> None:
        """Decide anew and see it written."""
        self._n += 1
        self.known = replace(self.known, **news)
        decision = self._decide(n=self._n, action=Action(self.known.action), day=self.known.day)
        self.desk.publisher.offer(decision, self.known)
        await self.desk.publisher.settle()


@pytest.fixture
def story(hire: Hire, server: RedisServer, decide: Make, redis: Redis) -> Callable[..., tuple[Engine, V6Gate]]:
    """An engine and a gate with the same clock on the wall."""

    def begin(at: int = NOON) -> tuple[Engine, V6Gate]:
        desk = hire(server.url, pace=Pace(refresh=30.0, survey_pause=0.05, beat=0.2))
        desk.clock.set(at)
        return Engine(desk, decide), V6Gate(redis, desk.clock)

    return begin


def fill(gate: V6Gate) -> int:
    """Call until the gate refuses; returns how many calls it admitted."""
    calls = 0
    while gate.call("m", CALL).admitted:
        calls += 1
    return calls


async def test_a_day(story: Story, until: Until) -> None:
    """Closed before the first decision, then up to our limit and not beyond, whatever others use."""
    engine, gate = story()
    assert gate.call("m", 0).status == 429
    await engine.say()
    await until(lambda: gate.limit("m") == 200_000)
    for _ in range(5):
        assert gate.call("m", CALL).admitted
    await engine.say(used=35_000)
    await until(lambda: gate.limit("m") == 200_000)

    await engine.say(used=35_000 + 90_000)  # somebody whom the gate does not count
    assert fill(gate) == 10
    assert 90_000 + gate.usage("m") + CALL >= 200_000
    assert "🚫 [PRE-BLOCK] m daily limit reached (105,000+7,000/110,000)" in gate.check("m", CALL).line

    await engine.say(used=90_000 + 105_000, limit=300_000, pool_low=500_000)  # a package has arrived
    assert fill(gate) == 14
    assert 90_000 + gate.usage("m") < 300_000


async def test_two_gates_share_a_limit(story: Story, redis: Redis, until: Until) -> None:
    """A second process with a key of its own: each counts both, and together they stay under the limit."""
    engine, gate = story()
    other = V6Gate(redis, engine.desk.clock, key_hash="second")
    await engine.say()
    await until(lambda: gate.limit("m") == 200_000)
    admitted = 0
    while True:
        calls = [each.call("m", CALL).admitted for each in (gate, other)]
        admitted += sum(calls)
        await engine.say(used=admitted * CALL)
        if not any(calls):
            break
    await until(lambda: gate.limit("m") == 200_000)
    assert fill(gate) + fill(other) + admitted == 28
    assert gate.usage("m") == 28 * CALL


@pytest.mark.parametrize("action", ["block", "degrade", "kill", "unknown"])
async def test_a_stop(story: Story, until: Until, action: str) -> None:
    """Whatever is not an allowance closes the gate at once, and an allowance opens it again."""
    engine, gate = story()
    await engine.say()
    await until(lambda: gate.check("m", CALL).admitted)
    await engine.say(action=action)
    assert gate.check("m", 0).status == 429
    assert (gate.check("m", 0).limit, gate.usage("m")) == (-50_000, 0)
    await engine.say(action="warn")
    assert gate.check("m", CALL).admitted


async def test_midnight(story: Story, until: Until) -> None:
    """Open until two seconds before it, closed from then on, open again with the first decision of the new day."""
    engine, gate = story(MIDNIGHT - 2_700)
    clock = engine.desk.clock
    await engine.say()
    await until(lambda: gate.limit("m") == 200_000)
    gate.call("m", CALL)

    await until(lambda: clock() >= MIDNIGHT - 2_000)
    await engine.say(used=CALL, limit=250_000)  # news that comes too late
    looks = 0
    while clock() < MIDNIGHT - 100:
        assert gate.check("m", 0).status == 429
        looks += 1
        await asyncio.sleep(0.005)
    assert looks > 50

    await until(lambda: clock() >= MIDNIGHT)
    await engine.say(used=CALL)  # a judge that has not seen the new day yet
    assert gate.check("m", 0).status == 429
    await engine.say(day=NEXT_DAY, used=0, limit=100_000)
    assert gate.usage("m") == 0
    assert clock() < MIDNIGHT + 1_000
    assert fill(gate) == 14
    assert gate.usage("m") == 98_000


async def test_a_dead_engine(story: Story, until: Until) -> None:
    """It still obeys the last limit; when the lease has run out it refuses, and goes on refusing."""
    engine, gate = story()
    await engine.say(lease=600)
    await until(lambda: gate.limit("m") == 200_000)
    await engine.desk.die()
    assert fill(gate) <= 28
    assert gate.usage("m") < 200_000
    await until(lambda: gate.limit("m") == -50_000, within=2)
    assert gate.call("m", 0).status == 429


async def test_a_flushed_redis(story: Story, redis: Redis, until: Until) -> None:
    """The gate has forgotten what it used; our count has not, and comes off its limit."""
    engine, gate = story()
    await engine.say()
    await until(lambda: gate.limit("m") == 200_000)
    for _ in range(10):
        gate.call("m", CALL)
    await engine.say(used=70_000)
    redis.flushall()
    assert gate.call("m", 0).status == 429
    await until(lambda: gate.limit("m") == 130_000)
    assert 70_000 + fill(gate) * CALL < 200_000


async def test_a_busy_hour(story: Story, redis: Redis, until: Until) -> None:
    """Three gates hammer while balances and counts change all the time: no call slips through in between."""
    engine, gate = story()
    await engine.say(used=50_000, apart=50_000)  # a client that counts in no key has used so much
    await until(lambda: gate.limit("m") == 150_000)
    done = threading.Event()
    admitted: list[int] = []

    def hammer(name: str) -> None:
        with redis.client() as own:
            mine = V6Gate(own, engine.desk.clock, key_hash=name)
            calls = 0
            while not done.is_set():
                calls += mine.call("m", 500).admitted
            admitted.append(calls)

    threads = [threading.Thread(target=hammer, args=(f"h{place}",)) for place in range(3)]
    for thread in threads:
        thread.start()
    for step in range(150):
        await engine.say(used=50_000 + gate.usage("m"), balance=(step * 37_000) % 400_000)
        await asyncio.sleep(0.002)
    done.set()
    for thread in threads:
        thread.join(5)
    in_flight = 3 * 500  # each gate adds a call only after it has checked it
    assert sum(admitted) * 500 == gate.usage("m")
    assert 100_000 < gate.usage("m") + 50_000 < 200_000 + in_flight
