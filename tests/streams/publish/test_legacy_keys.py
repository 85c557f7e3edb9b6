"""The legacy keys as the publisher keeps them: what gates counted is found, strangers are told of, days kept apart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision, Keys
from msgspec.structs import replace
from redis import Redis

from rules.calendar import Calendar
from rules.legacy import LegacyInput
from rules.moment import HOUR, MINUTE
from rules.policy import Mode
from streams.publish.daily import MANY
from streams.publish.observer import LegacyOutcome
from streams.publish.pace import Pace
from tests.streams.publish.redis_server import RedisServer

Make = Callable[..., Decision]
Hire = Callable[..., Any]
Until = Callable[..., Awaitable[None]]
NOON, DAY = 1_786_593_600_000, "2026-08-13"
BRISK = Pace(refresh=0.2, survey_pause=0.05, beat=0.1)
KEYS = Keys()


@pytest.fixture
def known(decide: Make) -> Callable[..., tuple[Decision, LegacyInput]]:
    """A decision with what it means for v6 gates: limit 1,000,000 of a pool of 1,500,000, nothing used."""

    def make(n: int = 1, action: Action = Action.ALLOW, **fields: Any) -> tuple[Decision, LegacyInput]:
        given = LegacyInput(
            models=("m",), action=action, limit=1_000_000, pool_low=1_500_000, used=0, balance=900_000, day=DAY, at=NOON
        )
        return decide(n=n, action=action), replace(given, **fields)

    return make


def total(redis: Redis, model: str = "m") -> int | None:
    """What a gate adds up; None if both keys are missing. One alone would be a torn pair."""
    both = redis.mget(KEYS.balance_at_sync(model), KEYS.usage_at_sync(model))
    assert (both[0] is None) == (both[1] is None)
    return None if both[0] is None else int(both[0]) + int(both[1])


def at_noon(hire: Hire, server: RedisServer, **options: Any) -> Any:
    """A publisher whose clock shows noon of the day."""
    desk = hire(server.url, **{"pace": BRISK, **options})
    desk.clock.set(NOON)
    return desk


async def test_every_spelling_has_its_pair(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Gates write the model's name as they please; each finds numbers under its own, less what it does not count."""
    redis.set(KEYS.daily_usage(DAY, "m", "h"), 300_000)
    redis.set(KEYS.daily_usage(DAY, "volcengine/m:v2", "h"), 100_000)
    desk = at_noon(hire, server)
    desk.publisher.offer(*known(models=("m", "volcengine/m:v2"), used=400_000))
    await until(lambda: total(redis, "volcengine/m:v2") is not None)
    assert total(redis) == 950_000
    assert total(redis, "volcengine/m:v2") == 750_000


async def test_counters_of_others_are_not_ours(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Only this model and this day: a longer name, another model and yesterday count elsewhere."""
    for day, model in [("2026-08-12", "m"), (DAY, "m:x"), (DAY, "mm"), (DAY, "x:m")]:
        redis.set(KEYS.daily_usage(day, model, "h"), 77)
    redis.set(KEYS.daily_usage(DAY, "m", "h"), 100_000)
    desk = at_noon(hire, server)
    desk.publisher.offer(*known(used=150_000))
    await until(lambda: total(redis) is not None)
    assert total(redis) == 1_000_000


async def test_usage_of_a_new_hash_is_found(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Unknown at first, so the numbers are tight; the gap asks for a survey, and they loosen."""
    desk = at_noon(hire, server, pace=Pace(refresh=30.0, survey_pause=0.05))
    desk.publisher.offer(*known())
    await until(lambda: total(redis) == 1_050_000)
    redis.set(KEYS.daily_usage(DAY, "m", "new"), 400_000)
    desk.publisher.offer(*known(n=2, used=400_000))
    await desk.publisher.settle()
    await until(lambda: total(redis) == 1_050_000, within=5)


async def test_many_hashes_are_added_up_by_the_survey(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """A model with more keys than a write should read; a sum from before a flush is not believed."""
    names = [KEYS.daily_usage(DAY, "m", f"h{place}") for place in range(MANY + 50)]
    redis.mset(dict.fromkeys(names, 1_000))
    desk = at_noon(hire, server)
    desk.publisher.offer(*known(used=300_000))
    await until(lambda: total(redis) == 1_000_000)
    redis.flushall()
    await until(lambda: total(redis) is not None)
    assert total(redis) == 750_000


async def test_the_numbers_are_written_every_minute(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Without any news a pair that vanished comes back, and what gates counted since is taken in."""
    desk = at_noon(hire, server)
    desk.publisher.offer(*known())
    await until(lambda: total(redis) == 1_050_000)
    redis.delete(KEYS.balance_at_sync("m"), KEYS.usage_at_sync("m"))
    await until(lambda: total(redis) == 1_050_000)
    assert 0 < redis.pttl(KEYS.balance_at_sync("m")) <= 30 * MINUTE


async def test_a_strangers_write_is_told_and_undone(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """The gate's own sync thread is still on: the judge hears which key, gates read ours."""
    desk = at_noon(hire, server)
    desk.publisher.offer(*known())
    await until(lambda: total(redis) == 1_050_000)
    redis.set(KEYS.usage_at_sync("m"), 1_999_999)
    await until(lambda: desk.seen.foreign)
    assert desk.seen.foreign == [("m", KEYS.usage_at_sync("m"))]
    assert total(redis) == 1_050_000


async def test_a_former_owner_changes_nothing(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Its older numbers are refused, and it hears of the newer version though the decision key is gone."""
    new, old = at_noon(hire, server, worker="new"), at_noon(hire, server, worker="old")
    new.publisher.offer(*known(n=5, limit=500_000))
    await until(lambda: total(redis) == 550_000)
    new.publisher.forget("model:m")
    redis.delete(KEYS.decision("model:m"))
    old.publisher.offer(*known(n=4))
    await until(lambda: old.seen.refused)
    assert old.seen.refused[0] == ("model:m", (1_786_000_000_000, 5))
    assert LegacyOutcome.REFUSED in old.seen.legacies
    assert total(redis) == 550_000


async def test_observing_touches_nothing(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """The gate keeps what its own sync thread wrote; the decision key is there all the same."""
    redis.mset({KEYS.balance_at_sync("m"): 2_242_063, KEYS.usage_at_sync("m"): 149_731})
    desk = at_noon(hire, server)
    desk.publisher.offer(*known(mode=Mode.OBSERVE))
    await desk.publisher.settle()
    await until(lambda: redis.exists(KEYS.decision("model:m")))
    assert total(redis) == 2_391_794
    assert desk.seen.legacies == []


async def test_numbers_of_a_day_that_is_over_are_not_written(
    server: RedisServer, redis: Redis, hire: Hire, known: Any
) -> None:
    """The judge has not decided about today yet: gates stay closed rather than spend yesterday's rest twice."""
    desk = at_noon(hire, server)
    desk.publisher.offer(*known(day="2026-08-12"))
    await desk.publisher.settle()
    assert redis.exists(KEYS.decision("model:m"))
    assert total(redis) is None


async def test_clocks_that_differ_are_reckoned_with(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Our clock is hours away from Redis's; the numbers still end two seconds before our midnight."""
    desk = hire(server.url, pace=BRISK)
    desk.clock.set(NOON + 12 * HOUR - 5 * MINUTE)
    desk.publisher.offer(*known())
    await until(lambda: total(redis) is not None)
    left = NOON + 12 * HOUR - 2_000 - desk.clock()
    assert left - 1_000 < redis.pttl(KEYS.balance_at_sync("m")) <= left + 5


async def test_a_policy_of_another_zone_closes_at_both_midnights(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """Gates roll over in Beijing; our day goes on, and so do the numbers right afterwards."""
    desk = at_noon(hire, server, calendar=Calendar("UTC"))
    desk.clock.set(NOON + 12 * HOUR - 1_000)
    desk.publisher.offer(*known())
    await until(lambda: desk.seen.legacies)
    assert desk.seen.legacies[0] is LegacyOutcome.CLOSED
    assert total(redis) is None
    desk.clock.set(NOON + 12 * HOUR)
    await until(lambda: total(redis) == 1_050_000)


async def test_recordings_have_keys_and_a_clock_of_their_own(
    server: RedisServer, redis: Redis, hire: Hire, known: Any, until: Until
) -> None:
    """In event mode the decision tells the time: open by day, taken away in the last two seconds."""
    keys = Keys("blastdoor-event", "blastdoor-event:")
    desk = hire(server.url, keys=keys, event_clock=True, pace=BRISK)
    desk.publisher.offer(*known())
    await until(lambda: redis.exists(keys.usage_at_sync("m")))
    assert all(name.startswith("blastdoor-event:") and 0 < redis.pttl(name) <= HOUR for name in redis.keys("*"))
    desk.publisher.offer(*known(n=2, at=NOON + 12 * HOUR - 1_500))
    await until(lambda: not redis.exists(keys.usage_at_sync("m"), keys.balance_at_sync("m")))
    desk.publisher.offer(*known(n=3, day="2026-08-14", at=NOON + 12 * HOUR))
    await until(lambda: redis.exists(keys.usage_at_sync("m"), keys.balance_at_sync("m")) == 2)
