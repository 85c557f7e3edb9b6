"""decision.lua: newer over older only, whatever happens to the key in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from blastdoor_gateway.contract import Decision, Keys, version_score
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from rules.moment import HOUR
from streams.publish.decisions import decision_call

KEY = "blastdoor:decision:model:m"
EPOCH = 1_786_000_000_000
Make = Callable[..., Decision]


def write(redis: Redis, decision: Decision, lives: int = HOUR) -> list[Any]:
    """One run of the script, as the publisher runs it."""
    call = decision_call(Keys(), decision, lives)
    return redis.eval(call.script.text, len(call.keys), *call.keys, *call.args)


def read(redis: Redis) -> Decision:
    """The decision as a gateway reads it."""
    return Decision.from_hash(redis.hgetall(KEY))


def test_a_newer_decision_replaces_an_older_one(redis: Redis, decide: Make) -> None:
    """Nothing of the older one is left, not even a field that the newer one does not have."""
    assert write(redis, decide(n=1, limit=7)) == ["written", ""]
    assert write(redis, decide(n=2)) == ["written", version_score((EPOCH, 1))]
    assert read(redis) == decide(n=2)


@pytest.mark.parametrize("late", [(EPOCH, 1), (EPOCH - 1, 99)])
def test_an_older_decision_is_refused(redis: Redis, decide: Make, late: tuple[int, int]) -> None:
    """An older epoch is older however high its number; the answer tells what stands there."""
    write(redis, decide(n=2))
    assert write(redis, decide(version=late)) == ["refused", version_score((EPOCH, 2))]
    assert read(redis) == decide(n=2)


def test_the_same_version_again_changes_nothing(redis: Redis, decide: Make) -> None:
    """Writing is idempotent, and renews the life of the key."""
    write(redis, decide(), lives=HOUR)
    assert write(redis, decide(), lives=2 * HOUR) == ["same", version_score((EPOCH, 1))]
    assert read(redis) == decide()
    assert redis.pttl(KEY) > HOUR


def test_a_key_always_ends_unless_it_must_not(redis: Redis, decide: Make) -> None:
    """The life is set in the same step as the fields; a decision without end takes the one before away."""
    write(redis, decide(n=1), lives=HOUR)
    assert 0 < redis.pttl(KEY) <= HOUR
    write(redis, decide(n=2), lives=0)
    assert redis.pttl(KEY) == -1
    write(redis, decide(n=3), lives=HOUR)
    assert 0 < redis.pttl(KEY) <= HOUR


def _string(redis: Redis) -> None:
    redis.set(KEY, "x")


def _no_score(redis: Redis) -> None:
    redis.hset(KEY, "action", "allow")


def _odd_score(redis: Redis) -> None:
    redis.hset(KEY, "score", "zzz")


def _far_future(redis: Redis) -> None:
    redis.hset(KEY, "score", "9" * 16 + "-" + "9" * 16)


def _damaged_field(redis: Redis) -> None:
    redis.hset(KEY, "limit", "many")


@pytest.mark.parametrize("damage", [_string, _no_score, _odd_score, _far_future, _damaged_field])
def test_damage_is_mended(redis: Redis, decide: Make, damage: Callable[[Redis], None]) -> None:
    """Whatever somebody did to the key, the next write of the very same decision makes it whole."""
    if damage is _damaged_field:
        write(redis, decide())
    damage(redis)
    assert write(redis, decide())[0] in {"written", "same"}
    assert read(redis) == decide()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_any_order_leaves_the_newest(redis: Redis, decide: Make, versions: list[tuple[int, int]]) -> None:
    """Replays, zombies and repeats in whatever order: the highest version stands."""
    redis.delete(KEY)
    for version in versions:
        write(redis, decide(version=version))
    assert read(redis).version == max(versions)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.lists(st.text(), max_size=3), st.none() | st.integers(-(2**63), 2**63))
def test_every_text_and_number_arrives_as_it_was(
    redis: Redis, decide: Make, reason: str, readings: list[str], limit: int | None
) -> None:
    """Quotes, zero bytes and emoji, and numbers beyond what a float can hold."""
    redis.delete(KEY)
    decision = decide(reason=reason, readings=tuple(readings), limit=limit)
    write(redis, decision)
    assert read(redis) == decision
