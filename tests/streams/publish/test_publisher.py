"""The publisher on a Redis that answers: newest wins, nothing vanishes unnoticed, nobody is asked to wait."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from blastdoor_gateway.contract import HEARTBEAT_TTL_SECONDS, Action, Decision, Keys, version_score
from redis import Redis

from rules.moment import DAY, HOUR, SECOND
from streams.publish.observer import Cause, Outcome
from streams.publish.pace import Pace
from tests.streams.publish.redis_server import RedisServer

Make = Callable[..., Decision]
Hire = Callable[..., "object"]
Until = Callable[..., Awaitable[None]]
KEY = "blastdoor:decision:model:m"
BRISK = Pace(beat=0.05, audit=0.05, renew=0.2)


def stands(redis: Redis, decision: Decision) -> bool:
    """Whether a gateway would read this decision."""
    stored = redis.hgetall(Keys().decision(decision.scope))
    return bool(stored) and Decision.from_hash(stored) == decision


async def test_a_decision_reaches_redis(server: RedisServer, redis: Redis, hire: Hire, decide: Make) -> None:
    """Offered, settled, there: with the life of its kind, and the time it took is told."""
    desk = hire(server.url)
    desk.publisher.offer(decide())
    await desk.publisher.settle()
    assert stands(redis, decide())
    assert 2 * DAY - 10 * SECOND < redis.pttl(KEY) <= 2 * DAY
    assert desk.seen.decisions == [Outcome.WRITTEN]
    assert desk.seen.waits[0] is not None
    assert 0 <= desk.seen.waits[0] < 5_000
    assert desk.seen.up


async def test_the_way_of_an_event_ends_in_redis(server: RedisServer, hire: Hire, decide: Make) -> None:
    """Told once, from the oldest record that a decision is news of; what is written again has come no way."""
    desk = hire(server.url)
    sent = desk.clock() - 7_000
    desk.publisher.offer(decide(n=1), sent=sent)
    desk.publisher.offer(decide(n=2), sent=sent + 5_000)
    desk.publisher.offer(decide("model:other"))
    await desk.publisher.settle()
    (way,) = desk.seen.ways
    assert way >= 7_000
    desk.publisher.offer(decide(n=3), sent=desk.clock() + HOUR)  # a clock of a producer that is ahead
    await desk.publisher.settle()
    assert desk.seen.ways == [way, 0]


async def test_what_was_offered_before_the_start_is_written(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make
) -> None:
    """The judge need not wait for Redis to begin; of many decisions of a scope only the last is written."""
    desk = hire(server.url)
    for n in range(500):
        desk.publisher.offer(decide(n=n))
    await desk.publisher.settle()
    assert stands(redis, decide(n=499))
    assert desk.seen.decisions == [Outcome.WRITTEN]


async def test_a_kill_outlives_the_engine(server: RedisServer, redis: Redis, hire: Hire, decide: Make) -> None:
    """Without an end its key has none; with one it ends then."""
    desk = hire(server.url)
    until = (datetime.fromtimestamp(desk.clock() / 1000).astimezone() + timedelta(hours=5)).isoformat()
    desk.publisher.offer(decide("model:a", action=Action.KILL))
    desk.publisher.offer(decide("model:b", action=Action.KILL, until=until))
    await desk.publisher.settle()
    assert redis.pttl("blastdoor:decision:model:a") == -1
    assert 5 * HOUR - 10 * SECOND < redis.pttl("blastdoor:decision:model:b") <= 5 * HOUR


async def test_a_refusal_is_told_and_answered(server: RedisServer, redis: Redis, hire: Hire, decide: Make) -> None:
    """Redis holds a higher epoch: the judge hears it, goes beyond it and stands."""
    epoch = 1_999_000_000_000
    redis.hset(KEY, mapping=decide(version=(epoch, 4)).to_hash() | {"score": version_score((epoch, 4))})
    desk = hire(server.url)
    desk.publisher.offer(decide())
    await desk.publisher.settle()
    assert desk.seen.refused == [("model:m", (epoch, 4))]
    assert stands(redis, decide(version=(epoch, 4)))
    desk.publisher.offer(decide(version=(epoch + 1, 0)))
    await desk.publisher.settle()
    assert stands(redis, decide(version=(epoch + 1, 0)))
    assert desk.seen.decisions == [Outcome.REFUSED, Outcome.WRITTEN]


async def test_a_flushed_redis_is_filled_again(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until
) -> None:
    """FLUSHALL is noticed at the next beat, and every decision comes back."""
    desk = hire(server.url, pace=Pace(beat=0.1))
    for place in range(3_000):
        desk.publisher.offer(decide(f"user:a/{place}"))
    await desk.publisher.settle()
    redis.flushall()
    await until(lambda: redis.dbsize() == 3_001)  # and the heartbeat
    assert (Cause.LOST, 3_000) in desk.seen.causes


async def test_a_flush_is_noticed_by_every_worker(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until
) -> None:
    """The other worker's heartbeat does not hide it."""
    desks = [hire(server.url, worker=name, pace=Pace(beat=0.1)) for name in ("w1", "w2")]
    for place, desk in enumerate(desks):
        desk.publisher.offer(decide(f"model:{place}"))
        await desk.publisher.settle()
    redis.flushall()
    await until(lambda: stands(redis, decide("model:0")) and stands(redis, decide("model:1")))


async def test_a_single_key_that_vanished_comes_back(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until
) -> None:
    """Evicted or deleted by hand: only that one is written again."""
    desk = hire(server.url, pace=Pace(audit=0.1))
    for place in range(700):
        desk.publisher.offer(decide(f"model:{place}"))
    await desk.publisher.settle()
    redis.delete("blastdoor:decision:model:77")
    await until(lambda: stands(redis, decide("model:77")))
    assert [(cause, scopes) for cause, scopes in desk.seen.causes if scopes][-1] == (Cause.VANISHED, 1)


async def test_lives_are_renewed(server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until) -> None:
    """As long as an engine runs, no key comes near its end."""
    desk = hire(server.url, pace=Pace(renew=0.1))
    desk.publisher.offer(decide())
    await desk.publisher.settle()
    redis.pexpire(KEY, HOUR)
    await until(lambda: redis.pttl(KEY) > 2 * DAY - 10 * SECOND)
    await until(lambda: Outcome.SAME in desk.seen.decisions)
    assert desk.seen.waits[1] is None  # a renewal says nothing about how long decisions take


async def test_a_forgotten_scope_is_left_alone(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until
) -> None:
    """After a rebalance the new owner's key is neither renewed nor mended by the old one."""
    desk = hire(server.url, pace=BRISK)
    desk.publisher.offer(decide("model:kept"))
    desk.publisher.offer(decide("model:gone"))
    await desk.publisher.settle()
    desk.publisher.forget("model:gone")
    redis.flushall()
    await until(lambda: stands(redis, decide("model:kept")))
    await until(lambda: len(desk.seen.decisions) > 5)
    assert not redis.exists("blastdoor:decision:model:gone")


async def test_the_heartbeat_tells_of_the_engine(server: RedisServer, redis: Redis, hire: Hire, until: Until) -> None:
    """At, worker and version; it moves, and ends by itself soon after the engine."""
    desk = hire(server.url, pace=BRISK)
    await until(lambda: redis.exists("blastdoor:engine"))
    first = redis.hgetall("blastdoor:engine")
    assert (first["worker"], first["version"]) == ("w1", "0.1.0")
    assert datetime.fromisoformat(first["at"]).timestamp() * 1000 == int(first["at_ms"])
    assert abs(int(first["at_ms"]) - desk.clock()) < 5_000
    assert 0 < redis.pttl("blastdoor:engine") <= HEARTBEAT_TTL_SECONDS * SECOND
    await until(lambda: redis.hget("blastdoor:engine", "at_ms") != first["at_ms"])


async def test_workers_that_have_gone_leave_the_heartbeat(
    server: RedisServer, redis: Redis, hire: Hire, until: Until
) -> None:
    """A restart every hour for a year does not grow the key."""
    redis.hset("blastdoor:engine", mapping={"worker:old": "1000", "worker:odd": "x"})
    desk = hire(server.url, pace=BRISK)
    await until(lambda: redis.hexists("blastdoor:engine", "worker:w1"))
    assert set(redis.hgetall("blastdoor:engine")) == {"at", "at_ms", "worker", "version", "worker:w1"}
    assert desk.seen.troubles == []


async def test_lost_scripts_are_loaded_again(server: RedisServer, redis: Redis, hire: Hire, decide: Make) -> None:
    """SCRIPT FLUSH, or a server that never had them: one stumble, then all is written."""
    desk = hire(server.url)
    desk.publisher.offer(decide(n=1))
    await desk.publisher.settle()
    redis.script_flush()
    desk.publisher.offer(decide(n=2))
    await desk.publisher.settle()
    assert stands(redis, decide(n=2))


async def test_event_mode_leaves_nothing_behind(server: RedisServer, redis: Redis, hire: Hire, decide: Make) -> None:
    """Every key of a recording ends within the hour, a kill's, too, and lies under the prefix of recordings."""
    desk = hire(server.url, keys=Keys("blastdoor-event", "blastdoor-event:"), event_clock=True)
    desk.publisher.offer(decide())
    desk.publisher.offer(decide("model:k", action=Action.KILL))
    await desk.publisher.settle()
    names = redis.keys("*")
    assert len(names) == 3
    assert all(name.startswith("blastdoor-event:") and 0 < redis.pttl(name) <= HOUR for name in names)


async def test_tens_of_thousands_of_scopes_stay_bounded(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make
) -> None:
    """What waits is at most the scopes there are, and offering stays a matter of microseconds."""
    desk = hire(server.url)
    slowest = 0.0
    for n in range(3):
        for place in range(5_000):
            decision = decide(f"user:a/{place}", n=n)
            began = time.perf_counter()
            desk.publisher.offer(decision)
            slowest = max(slowest, time.perf_counter() - began)
    await desk.publisher.settle()
    assert desk.seen.most_waiting <= 5_000
    assert len(desk.seen.decisions) == 5_000
    assert slowest < 0.5  # it waits for nobody; its speed is the bench's to show
    assert stands(redis, decide("user:a/4999", n=2))


async def test_a_damaged_name_does_not_stop_the_others(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make
) -> None:
    """Text that no encoding can carry is written as well as it can be."""
    desk = hire(server.url)
    desk.publisher.offer(decide("user:a/\udc80"))
    desk.publisher.offer(decide())
    await desk.publisher.settle()
    assert stands(redis, decide())
    assert desk.seen.troubles == []


async def test_a_damaged_hash_is_mended(
    server: RedisServer, redis: Redis, hire: Hire, decide: Make, until: Until
) -> None:
    """A field that somebody changed by hand is right again after the next renewal."""
    desk = hire(server.url, pace=Pace(renew=0.1))
    desk.publisher.offer(decide(limit=7))
    await desk.publisher.settle()
    redis.hset(KEY, "limit", "0")
    await until(lambda: stands(redis, decide(limit=7)))
