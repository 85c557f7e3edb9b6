"""Senders whose clocks are two minutes off: people hear of it, once each for usage and for readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rules.alerts import Alert, Kind
from tests.acceptance.conftest import Deployment, eventually

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

USAGE = b'{"type":"usage","id":"u%d","ts":%d,"model":"m","total_tokens":7}'
READING = b'{"type":"balance","id":"b%d","ts":%d,"model":"m","available":500000}'
FAST = 120  # seconds


async def test_fast_clocks_are_announced(deploy: Callable[..., Any]) -> None:
    """Usage and readings of two minutes hence are taken, limits go on, and both kinds of sender are named."""
    async with deploy() as deployment:
        now = int((await deployment.redis.time())[0])
        for number in range(5):
            await deployment.produce(deployment.topics.usage, USAGE % (number, now + FAST))
            await deployment.produce(deployment.topics.balances, READING % (number, now + FAST))
        await deployment.decided(lambda decision: decision.counted == 35, model="m")
        alerts = await eventually(lambda: _told(deployment, 2))
        assert {alert.scope for alert in alerts} == {"engine", "model:m"}
        assert all("s ahead of their receipt" in alert.reason for alert in alerts)
        assert len(await _told(deployment, 0)) == 2


async def _told(deployment: Deployment, wanted: int) -> list[Alert]:
    records = await deployment.records(deployment.topics.alerts)
    alerts = [msgspec.json.decode(record.value, type=Alert) for record in records]
    found = [alert for alert in alerts if alert.kind is Kind.CLOCKS_APART]
    return found if len(found) >= wanted else []
