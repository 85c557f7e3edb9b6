"""`blastdoor clean`: what outlived its use is found, shown, and only then removed; nothing of others is touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from blastdoor_gateway.contract import Keys
from click.testing import CliRunner, Result
from redis import Redis

from rules.legacy import GATE_DAYS
from rules.moment import DAY
from streams.cli import main
from streams.embedded import redis_server
from streams.wall_clock import wall_clock

pytestmark = pytest.mark.embedded

KEYS = Keys("blastdoor")
TODAY = GATE_DAYS.day(wall_clock())
PAST = GATE_DAYS.day(wall_clock() - 4 * DAY)


class Place:
    """A Redis of its own: a scan sees everything there is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.redis = Redis.from_url(url, decode_responses=True)

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["clean", "--redis", self.url, *words], env={"BLASTDOOR_POLICY": None})

    def found(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.run("--json").stdout)
        return told


@pytest.fixture
def place() -> Iterator[Place]:
    server = redis_server.start()
    place = Place(redis_server.url(server))
    yield place
    place.redis.close()
    server.child.stop()


def fill(redis: Redis) -> None:
    """Keys as they should be, as they should not, and of others."""
    redis.set(KEYS.engine, "1", ex=30)
    redis.hset(KEYS.decision("model:m"), "action", "allow")
    redis.expire(KEYS.decision("model:m"), 1000)
    redis.hset(KEYS.decision("global"), "action", "kill")  # rightly without an end
    redis.hset(KEYS.decision("ip:1.2.3.4"), "action", "allow")
    redis.set(KEYS.daily_usage(TODAY, "m", "h"), 7, ex=1000)
    redis.set(KEYS.daily_usage(TODAY, "m", "g"), 7)
    redis.set(KEYS.daily_usage(PAST, "m", "h"), 7)
    redis.set(KEYS.balance_at_sync("m"), 7, ex=1000)
    redis.set(KEYS.balance_at_sync("gone"), 7)
    redis.set("session:42", "somebody's")
    redis.set("blastdoor-other:decision:x", "somebody's")
    redis.set("blastdoor:poll:ark", "place")


def test_what_outlived_its_use_is_shown_and_nothing_changed(place: Place) -> None:
    """Exit code 3: past days, models that are gone, and keys that nobody would ever end."""
    fill(place.redis)
    before = {name: place.redis.ttl(name) for name in place.redis.scan_iter()}
    found = place.found()
    assert {each["key"]: each["why"] for each in found["findings"]} == {
        KEYS.daily_usage(PAST, "m", "h"): "past",
        KEYS.balance_at_sync("gone"): "dead",
        KEYS.daily_usage(TODAY, "m", "g"): "endless",
        KEYS.decision("ip:1.2.3.4"): "endless",
    }
    assert (found["foreign"], found["families"]["daily_usage"]["keys"]) == (2, 3)
    shown = place.run()
    assert (shown.exit_code, "nothing was changed; --apply does it" in shown.stdout) == (3, True)
    assert before.keys() == set(place.redis.scan_iter())
    assert [name for name, ttl in before.items() if ttl == -1 and place.redis.ttl(name) != -1] == []


def test_applied_it_removes_what_is_dead_and_ends_what_lives(place: Place) -> None:
    """A counter of today is never removed, only ended; a kill stays without an end; others' keys are as they were."""
    fill(place.redis)
    applied = place.run("--apply")
    assert (applied.exit_code, "4 keys changed" in applied.stdout) == (0, True), applied.output
    redis = place.redis
    assert redis.exists(KEYS.daily_usage(PAST, "m", "h"), KEYS.balance_at_sync("gone")) == 0
    assert redis.get(KEYS.daily_usage(TODAY, "m", "g")) == "7"
    assert 0 < redis.ttl(KEYS.daily_usage(TODAY, "m", "g")) <= 48 * 3600
    assert redis.ttl(KEYS.decision("global")) == -1
    assert redis.mget("session:42", "blastdoor-other:decision:x") == ["somebody's"] * 2
    again = place.run()
    assert (again.exit_code, "nothing to do" in again.stdout) == (0, True)


def test_without_an_engine_no_model_is_taken_for_dead(place: Place) -> None:
    """Decisions end after two days: without an engine every model would look gone."""
    fill(place.redis)
    place.redis.delete(KEYS.engine)
    assert "dead" not in {each["why"] for each in place.found()["findings"]}
    assert "cannot be told" in place.run().stdout


def test_without_a_redis_it_says_so() -> None:
    """Exit code 1, and no password of the address."""
    found = CliRunner().invoke(main, ["clean", "--redis", "redis://127.0.0.1:1/0"], env={"BLASTDOOR_POLICY": None})
    assert (found.exit_code, "Redis cannot be asked" in found.output) == (1, True)
