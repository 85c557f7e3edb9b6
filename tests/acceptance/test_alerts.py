"""A limit is crossed far and often: people hear of it once at 80 % and once at 100 %, through real channels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rules.alerts import Alert
from rules.moment import MINUTE, to_rfc3339
from streams.channels.receiver import FEISHU, THROTTLED, WEBHOOK, Arrival, Receiver
from tests.acceptance.conftest import Deployment

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

START = 1_786_590_000_000  # 2026-08-13T11:00:00+08:00
AVAILABLE = 100_000


def policy_file(directory: Path, receiver: Receiver) -> Path:
    """Both channels, their secrets in files of their own."""
    channels = {}
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        (directory / f"{kind}.url").write_text(channel.url)
        (directory / f"{kind}.secret").write_text(channel.secret)
        channels[kind] = {"kind": kind, "url": f"file:{kind}.url", "secret": f"file:{kind}.secret"}
    path = directory / "policy.yaml"
    models = {"default": {"small_buffer": 0}}
    path.write_text(json.dumps({"alerts": {"send": [FEISHU, WEBHOOK]}, "channels": channels, "models": models}))
    return path


def recording(path: Path, first: int, count: int) -> Path:
    """A call of a tenth of the pool each minute from minute 40 on; the provider's books are ten minutes behind."""
    lines = []
    for number in range(first, first + count):
        at = to_rfc3339(START + number * MINUTE)
        left = max(0, AVAILABLE - AVAILABLE // 10 * max(0, number - 10 - 40))
        lines.append({"type": "balance", "id": f"b{number}", "ts": at, "model": "m", "available": left})
        if number > 40:
            lines.append({"type": "usage", "id": f"u{number}", "ts": at, "model": "m", "total_tokens": AVAILABLE // 10})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def ids(arrivals: list[Arrival], kind: str) -> list[str]:
    """What arrived on one channel, in order."""
    return [each.id for each in arrivals if each.channel == kind]


async def test_fifty_calls_beyond_the_limit_are_two_alerts(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """One at 80 %, one at 100 %, on each channel and under one id; none again after a restart. Feishu throttles first:
    an answer of HTTP 200 with a code is a failure, and the alert is sent again."""
    async with Receiver() as receiver:
        receiver.plan(FEISHU, THROTTLED)
        async with deploy(event_clock=True, policy=str(policy_file(tmp_path, receiver))) as deployment:
            await deployment.ship(recording(tmp_path / "first.jsonl", 0, 100))
            await receiver.until(lambda: all(len(ids(receiver.arrivals, kind)) >= 2 for kind in (FEISHU, WEBHOOK)))
            await deployment.ship(recording(tmp_path / "more.jsonl", 100, 10))
            await deployment.decided(lambda decision: decision.used == 69 * AVAILABLE // 10, model="m")
            await deployment.kill_worker()
            await deployment.ship(recording(tmp_path / "rest.jsonl", 110, 10))
            await deployment.decided(lambda decision: decision.used == 79 * AVAILABLE // 10, model="m")
            raised = [_alert(record.value) for record in await deployment.records(deployment.topics.alerts)]
            assert [alert.threshold for alert in raised] == [0.8, 1.0]
            for kind in (FEISHU, WEBHOOK):
                assert ids(receiver.arrivals, kind) == [alert.id for alert in raised]
            _nothing_secret(deployment, tmp_path, receiver)


def _alert(value: bytes) -> Alert:
    return msgspec.json.decode(value, type=Alert)


def _nothing_secret(deployment: Deployment, logs: Path, receiver: Receiver) -> None:
    """Neither URL nor secret stands in a log of any part."""
    text = "".join(path.read_text(errors="replace") for path in logs.glob("*.log"))
    assert text
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        assert channel.secret not in text
        assert channel.url.rsplit("/", 1)[1] not in text
