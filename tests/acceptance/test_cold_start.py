"""From nothing to the first decision."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(60)]


async def test_a_cold_deployment_decides_the_first_event(deploy: Callable[..., Any], record_property: Any) -> None:
    """Broker, Redis and worker start, and the first event leads to a decision; how long that took is reported."""
    began = time.monotonic()
    async with deploy() as deployment:
        ready = time.monotonic() - began
        now = int((await deployment.redis.time())[0])
        event = b'{"type":"usage","id":"first","ts":%d,"model":"m","total_tokens":1}' % now
        await deployment.produce(deployment.topics.usage, event)
        decision = await deployment.decided(lambda found: found.used == 1, model="m")
        record_property("ready_seconds", round(ready, 2))
        record_property("first_decision_seconds", round(time.monotonic() - began, 2))
        assert decision.action == "unknown"
        assert decision.limit is None
