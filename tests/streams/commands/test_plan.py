"""`blastdoor plan`: by the newest decisions, once a day, and again before each step."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from blastdoor_gateway.contract import Action, Decision, Keys
from click.testing import CliRunner, Result
from redis import Redis

from rules.legacy import GATE_DAYS
from rules.moment import DAY, HOUR, to_rfc3339
from streams.cli import main
from streams.commands import plan
from streams.topics import ensure_topics
from streams.wall_clock import wall_clock
from tests.streams.ship.conftest import Target

pytestmark = pytest.mark.embedded

NIGHT = GATE_DAYS.start(GATE_DAYS.day(wall_clock())) + 23 * HOUR


class Place:
    """Decisions on Kafka and in Redis."""

    def __init__(self, target: Target, redis_url: str) -> None:
        self.target, self.url = target, redis_url
        self.redis = Redis.from_url(redis_url, decode_responses=True)
        self.keys = Keys(target.prefix)
        self.redis.delete(self.keys.last_run(GATE_DAYS.day(NIGHT)))  # the one key without our prefix

    def decide(self, *, expires_in: int = 5 * DAY, **fields: Any) -> None:
        ends = to_rfc3339(NIGHT + expires_in)
        usual: dict[str, Any] = {
            "scope": "model:m", "action": Action.ALLOW, "rule": "r", "reason": "fine", "day": GATE_DAYS.day(NIGHT),
            "decided_at": to_rfc3339(NIGHT), "version": (1, 1), "used": 240_000, "pool_low": 1_000_000,
            "will_expire": {"p1": {"expires": ends, "tokens": 700_000}}, "because": {"yesterday": 240_000},
        }  # fmt: skip
        decision = Decision(**(usual | fields))
        asyncio.run(self._tell(decision))
        self.redis.hset(self.keys.decision(decision.scope), mapping=decision.to_hash())
        self.redis.set(self.keys.engine, "1")

    async def _tell(self, decision: Decision) -> None:
        await ensure_topics(self.target.kafka, self.target.prefix)
        async with AIOKafkaProducer(bootstrap_servers=self.target.kafka) as producer:
            topic = self.target.topics.decisions_latest
            await producer.send_and_wait(topic, decision.to_json(), key=decision.scope.encode())

    def run(self, *words: str) -> Result:
        options = ["--redis", self.url, *self.target.options]
        return CliRunner().invoke(main, ["plan", *words, *options], env={"BLASTDOOR_POLICY": None})


@pytest.fixture
def place(target: Target, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setattr(plan, "wall_clock", lambda: NIGHT)
    place = Place(target, redis_url)
    yield place
    place.redis.close()


def test_the_day_is_planned_once(place: Place) -> None:
    """With the numbers behind it; the second who asks is told so, and the key ends by itself."""
    place.decide()
    found = place.run("--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    needed = 135_653  # of 240,000 in 23 hours, for the 13 until noon
    assert (told["model"], told["tokens"]) == ("m", 1_000_000 - 240_000 - 10_000 - needed)
    assert (told["at_stake"], told["expected"]) == (700_000, needed)
    second = place.run()
    assert (second.exit_code, "made already" in second.stderr) == (3, True)
    assert place.run("--again").exit_code == 0
    assert place.redis.ttl(place.keys.last_run(GATE_DAYS.day(NIGHT))) > 40 * 3600


def test_without_an_end_in_sight_nothing_is_planned_nor_claimed(place: Place) -> None:
    """Unless somebody asks."""
    place.decide(expires_in=20 * DAY)
    found = place.run()
    assert (found.exit_code, "nothing ends unused" in found.stdout) == (3, True)
    assert place.run("--now").exit_code == 0


def test_before_23_it_waits(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day's users come first."""
    place.decide()
    monkeypatch.setattr(plan, "wall_clock", lambda: NIGHT - 1)
    assert place.run().exit_code == 3
    assert place.run("--now").exit_code == 0


def test_each_step_looks_again(place: Place) -> None:
    """What was used since is taken off; a kill of everything stops it at once, and so does a model that nobody
    decides on."""
    place.decide()
    assert place.run("--step", "m").exit_code == 0
    stopped = Decision(
        scope="global", action=Action.KILL, rule="k", reason="closed by lin", day="", decided_at=to_rfc3339(NIGHT),
        version=(1, 1),
    )  # fmt: skip
    place.redis.hset(place.keys.decision("global"), mapping=stopped.to_hash())
    found = place.run("--step", "m")
    assert (found.exit_code, "closed by lin" in found.stdout) == (3, True)
    place.redis.hset(place.keys.decision("global"), mapping=replace(stopped, action=Action.ALLOW).to_hash())
    place.redis.hset(place.keys.decision("model:m"), "used", "990000")
    assert place.run("--step", "m").exit_code == 3
    assert place.run("--step", "other").exit_code == 3


def test_without_an_engine_nothing_is_planned(place: Place) -> None:
    """Old decisions say nothing of now: exit code 1, and nothing claimed."""
    place.decide()
    place.redis.delete(place.keys.engine)
    found = place.run()
    assert (found.exit_code, "no engine is at work" in found.output) == (1, True)
    assert place.redis.exists(place.keys.last_run(GATE_DAYS.day(NIGHT))) == 0
