"""The kill switch on real parts: money closes the gate, and an operator opens it, whatever dies in between."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.admission import Admission, Layer
from blastdoor_gateway.config import Engine, Falls, Gate
from blastdoor_gateway.contract import Action, Decision
from blastdoor_gateway.guard import Guard

from rules.alerts import Alert, Kind
from streams.alert_records import read
from tests.acceptance.conftest import Deployment, eventually

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(180)]

NANO = 10**9
POLICY = """
day_starts: "{starts}"
spend: {{daily: 500, basis: list}}
prices: {{m: {{input: 1000, output: 1000}}}}   # 0.001 a token
"""


def far_from_midnight() -> str:
    """A beginning of the accounting day that no story reaches: twelve hours from now, in Shanghai."""
    return f"{(int(time.time()) // 3600 + 8 + 12) % 24:02d}:00"


class Story:
    """What a gateway, its callers and an operator do."""

    def __init__(self, deployment: Deployment, guard: Guard) -> None:
        self.deployment = deployment
        self.guard = guard
        self.sent = 0

    async def use(self, tokens: int) -> None:
        """A call through a gateway that does not ask."""
        self.sent += 1
        event = {"type": "usage", "id": f"u{self.sent}", "ts": time.time(), "model": "m", "total_tokens": tokens}
        await self.deployment.produce(self.deployment.topics.usage, json.dumps(event).encode())

    async def order(self, action: str, scope: str = "global", times: int = 1) -> None:
        """An operator's order; `times`: it is sent so often, under one id."""
        self.sent += 1
        record = {"type": "control", "id": f"c{self.sent}", "ts": time.time(), "by": "ann", "why": "drill"}
        value = json.dumps(record | {"action": action, "scope": scope}).encode()
        await self.deployment.produce(self.deployment.topics.controls, *[value] * times, key=scope.encode())

    async def decided(self, wanted: Callable[[Decision], bool], scope: str = "global") -> Decision:
        async def look() -> Decision | None:
            stored = await self.deployment.redis.hgetall(self.deployment.keys.decision(scope))
            found = Decision.from_hash(stored) if stored else None
            return found if found is not None and wanted(found) else None

        found: Decision = await eventually(look)
        return found

    async def call(self, ip: str = "") -> Admission:
        return await self.guard.admit(model="m", ip=ip, estimate=1)

    async def alerts(self) -> list[Alert]:
        records = await self.deployment.records(self.deployment.topics.alerts)
        return [found for record in records if isinstance(found := read(record.key, record.value), Alert)]


@pytest.fixture
def told(deploy: Callable[..., Any], tmp_path: Path) -> Callable[[], Any]:
    """A deployment with prices, and a gate before it that lets unknown models pass."""

    @asynccontextmanager
    async def start() -> AsyncIterator[Story]:
        path, starts = tmp_path / "policy.yaml", far_from_midnight()
        path.write_text(POLICY.format(starts=starts))
        gate = Gate(wait_seconds=5.0, engine=Engine(unknown=Falls.OPEN), day_starts=starts, per_ip=None, per_user=None)
        async with deploy(policy=str(path)) as deployment:
            guard = Guard.connect(deployment.stack.redis, gate)
            try:
                yield Story(deployment, guard)
            finally:
                await guard.close()

    return start


async def test_money_closes_and_a_resume_opens(told: Callable[[], Any]) -> None:
    """At 499 a call passes, at 500 none does, not even after the worker was killed; a resume sent twice opens once, and
    that outlives the next worker as well."""
    async with told() as story:
        await story.decided(lambda found: found.limit == 500 * NANO)
        await story.use(499_000)
        await story.decided(lambda found: found.used == 499 * NANO)
        assert (await story.call()).allowed
        await story.use(1_000)
        closed = await story.decided(lambda found: found.action is Action.KILL)
        assert (closed.rule, closed.used) == ("global-spend-reached", 500 * NANO)
        lives = await story.deployment.redis.ttl(story.deployment.keys.decision("global"))
        assert 0 < lives <= 24 * 3600  # the day's end, not the life of a lease
        refused = await story.call()
        assert (refused.allowed, refused.layer, refused.rule) == (False, Layer.KILL, "global-spend-reached")

        await story.deployment.kill_worker()
        assert not (await story.call()).allowed
        again = await story.decided(lambda found: found.version > closed.version)
        assert (again.action, again.used) == (Action.KILL, 500 * NANO)

        await story.order("resume", times=2)
        opened = await story.decided(lambda found: found.action is not Action.KILL)
        assert (opened.limit, opened.used) == (1_000 * NANO, 500 * NANO)
        assert (await story.call()).allowed
        await story.deployment.kill_worker()
        later = await story.decided(lambda found: found.version > opened.version)
        assert (later.action, later.limit) == (opened.action, 1_000 * NANO)

        async def both_told() -> bool:
            """One that was sent before the worker died may stand there twice, under one id."""
            told = {alert.id: alert for alert in await story.alerts()}.values()
            reached = [alert for alert in told if alert.kind is Kind.THRESHOLD and alert.scope == "global"]
            return [(alert.threshold, alert.unit) for alert in reached] == [(0.8, "CNY"), (1.0, "CNY")]

        await eventually(both_told)


async def test_an_operator_closes_and_bans(told: Callable[[], Any]) -> None:
    """`kill` closes everything without an end, `ban` one address; both are in the history with who and why."""
    async with told() as story:
        await story.order("ban", "ip:203.0.113.0/24")
        await story.decided(lambda found: found.action is Action.KILL, "ip:203.0.113.0/24")
        assert not (await story.call("203.0.113.9")).allowed
        assert (await story.call("198.51.100.1")).allowed
        await story.order("unban", "ip:203.0.113.0/24")
        await story.decided(lambda found: found.action is Action.ALLOW, "ip:203.0.113.0/24")
        assert (await story.call("203.0.113.9")).allowed

        await story.order("kill")
        closed = await story.decided(lambda found: found.action is Action.KILL)
        assert (closed.until, closed.reason) == (None, "closed by ann: drill")
        assert await story.deployment.redis.ttl(story.deployment.keys.decision("global")) == -1
        assert (await story.call()).layer is Layer.KILL

        async def in_history() -> bool:
            """Each order with its author; those of other scopes stand on other partitions."""
            history = await story.deployment.records(story.deployment.topics.decisions)
            because = [json.loads(record.value).get("because", {}) for record in history]
            found = {(each["action"], each["by"], each["why"]) for why in because for each in why.get("orders", ())}
            return found == {(action, "ann", "drill") for action in ("ban", "unban", "kill")}

        await eventually(in_history)
