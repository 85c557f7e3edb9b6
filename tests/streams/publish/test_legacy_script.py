"""legacy.lua: both numbers or none, the arithmetic of rules/legacy.py, never past their end, no stranger's number."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from blastdoor_gateway.contract import Keys, version_score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from rules.legacy import LegacyInput, Pair, ceiling, pair
from rules.moment import DAY, HOUR, MINUTE
from streams.publish.legacy import read_answer
from streams.publish.observer import LegacyOutcome
from streams.publish.scripts import LEGACY

KEYS = Keys()
BALANCE, USAGE, MARK = KEYS.balance_at_sync("m"), KEYS.usage_at_sync("m"), KEYS.legacy_written("m")
TOKENS = st.integers(-3_000_000, 3_000_000)
PLAIN = LegacyInput(
    models=("m",), action="allow", limit=1_900_000, pool_low=2_242_178, used=665_268, balance=1_726_526,
    day="2026-08-13", at=0,
)  # fmt: skip


def now() -> int:
    return time.time_ns() // 1_000_000


def write(redis: Redis, known: LegacyInput = PLAIN, n: int = 1, daily: tuple[str, ...] = (), **life: int) -> Any:
    """One run of the script, as the publisher runs it."""
    ends, lives, summed = life.get("ends", 0), life.get("lives", HOUR), life.get("summed", 0)
    score = version_score((1_786_000_000_000, n))
    numbers = (ceiling(known), known.used or 0, known.apart, known.balance or 0, summed)
    args = (score, *numbers, ends, lives, 2 * DAY)
    return read_answer(redis.eval(LEGACY.text, 3 + len(daily), BALANCE, USAGE, MARK, *daily, *args))


def read(redis: Redis) -> Pair | None:
    """What a gate sees; None: both are missing. One alone would be a torn pair."""
    balance, usage = redis.mget(BALANCE, USAGE)
    assert (balance is None) == (usage is None)
    return None if balance is None else Pair(int(balance), int(usage))


INPUTS = st.builds(
    LegacyInput, models=st.just(("m",)), action=st.sampled_from(["allow", "warn", "block"]), limit=st.none() | TOKENS,
    pool_low=st.none() | TOKENS, used=st.none() | st.integers(0, 3_000_000), balance=st.none() | TOKENS,
    day=st.just("2026-08-13"), at=st.just(0), apart=st.integers(0, 100_000),
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(INPUTS, st.lists(TOKENS, max_size=4), st.integers(0, 100_000))
def test_it_counts_as_the_rules_do(redis: Redis, known: LegacyInput, counted: list[int], summed: int) -> None:
    """The script and rules/legacy.py give the same numbers for the same sums."""
    redis.flushdb()
    daily = tuple(f"daily_usage:2026-08-13:m:{place}" for place in range(len(counted)))
    for name, tokens in zip(daily, counted, strict=True):
        redis.set(name, tokens)
    answer = write(redis, known, daily=daily, summed=summed)
    assert answer.counted == sum(counted) + summed
    assert read(redis) == pair(known, answer.counted)


def test_counters_that_are_missing_or_broken_count_nothing(redis: Redis) -> None:
    """A sum that is too low only tightens the gate's limit."""
    redis.mset({"a": "700", "b": "x", "c": "nan", "d": "inf", "e": "12.9"})
    answer = write(redis, daily=("a", "b", "c", "d", "e", "missing"))
    assert answer.counted == 712


def test_thousands_of_counters_are_added_up(redis: Redis) -> None:
    """More keys than one Lua call can take."""
    names = tuple(f"daily_usage:2026-08-13:m:{place}" for place in range(9_500))
    redis.mset(dict.fromkeys(names, 3))
    assert write(redis, daily=names).counted == 28_500


def test_both_numbers_end_at_the_same_instant(redis: Redis) -> None:
    """No gate ever finds one without the other."""
    ends = now() + MINUTE
    write(redis, ends=ends, lives=0)
    with redis.pipeline(transaction=True) as pipe:
        pipe.pttl(BALANCE)
        pipe.pttl(USAGE)
        balance, usage = pipe.execute()
    assert abs(balance - usage) <= 1
    assert 0 < balance <= MINUTE
    assert 0 < redis.pttl(MARK) <= 2 * DAY


def test_numbers_that_come_too_late_are_not_written(redis: Redis) -> None:
    """A write that was held up past its end takes away what is there: the gate closes."""
    write(redis, n=1)
    assert write(redis, n=2, ends=now() - 1, lives=0).outcome is LegacyOutcome.CLOSED
    assert read(redis) is None


def test_a_newer_decision_is_not_replaced(redis: Redis) -> None:
    """A former owner of the scope changes nothing and learns what stands there."""
    write(redis, n=2)
    before = read(redis)
    late = write(
        redis, LegacyInput(**{name: getattr(PLAIN, name) for name in PLAIN.__struct_fields__} | {"limit": 1}), n=1
    )
    assert late.outcome is LegacyOutcome.REFUSED
    assert late.held == version_score((1_786_000_000_000, 2))
    assert read(redis) == before


@pytest.mark.parametrize("key", [BALANCE, USAGE])
def test_a_strangers_number_is_found_and_overwritten(redis: Redis, key: str) -> None:
    """The gate's own sync thread is on, or somebody typed: the answer names the key, ours stand again."""
    write(redis)
    ours = read(redis)
    redis.set(key, 2_391_794)
    assert write(redis).strangers == (key,)
    assert read(redis) == ours
    assert write(redis).strangers == ()


def test_a_key_of_another_type_is_a_strangers(redis: Redis) -> None:
    """Nothing that stands under our names stops us."""
    write(redis)
    redis.delete(BALANCE)
    redis.lpush(BALANCE, "x")
    redis.delete(MARK)
    redis.set(MARK, "x")
    assert write(redis).outcome is LegacyOutcome.WRITTEN
    assert read(redis) == pair(PLAIN, 0)


def test_what_was_there_before_us_is_no_strangers(redis: Redis) -> None:
    """On the first day the keys still hold what the old sync thread left: taken over, not reported."""
    redis.mset({BALANCE: 2_242_063, USAGE: 149_731})
    assert write(redis).strangers == ()
    assert read(redis) == pair(PLAIN, 0)


def test_a_missing_key_is_no_strangers(redis: Redis) -> None:
    """Expired, evicted or flushed is not written."""
    write(redis)
    redis.delete(BALANCE)
    assert write(redis).strangers == ()


def test_a_pair_is_never_torn(redis: Redis) -> None:
    """A gate that reads both keys in one command always sees numbers of one write, however fast we write."""
    totals = {sum(pair(PLAIN, 0)), 0}
    seen: list[int] = []
    done = threading.Event()

    def gate() -> None:
        while not done.is_set():
            both = redis.mget(BALANCE, USAGE)
            seen.append(sum(int(text or 0) for text in both))

    reader = threading.Thread(target=gate)
    reader.start()
    with redis.client() as writer:
        n = 0
        while n < 300 or len(seen) < 50:
            n += 1
            balance = 100_000 * (n % 17)
            known = LegacyInput(
                **{name: getattr(PLAIN, name) for name in PLAIN.__struct_fields__} | {"balance": balance}
            )
            write(writer, known, n=n)
    done.set()
    reader.join(5)
    assert set(seen) <= totals
