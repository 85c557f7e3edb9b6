"""A limit is crossed far and often: people hear of it once at 80 % and once at 100 %, through real channels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    """`count` calls of a tenth of the pool each, minute by minute from `first` on, with readings that lag behind."""
    lines = []
    for number in range(first, first + count):
        at = to_rfc3339(START + number * MINUTE)
        lines.append({"type": "balance", "id": f"b{number}", "ts": at, "model": "m", "available": AVAILABLE})
        if number > 40:
            lines.append({"type": "usage", "id": f"u{number}", "ts": at, "model": "m", "total_tokens": AVAILABLE // 10})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def thresholds(arrivals: list[Arrival]) -> dict[str, list[str]]:
    """Per channel the ids of what arrived, in order."""
    return {kind: [each.id for each in arrivals if each.channel == kind] for kind in (FEISHU, WEBHOOK)}


async def test_fifty_calls_beyond_the_limit_are_two_alerts(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """One at 80 %, one at 100 %, on each channel and under one id; none again after a restart. Feishu throttles first:
    an answer of HTTP 200 with a code is a failure, and the alert is sent again."""
    async with Receiver() as receiver:
        receiver.plan(FEISHU, THROTTLED)
        async with deploy(event_clock=True, policy=str(policy_file(tmp_path, receiver))) as deployment:
            await deployment.ship(recording(tmp_path / "first.jsonl", 0, 100))
            await receiver.until(lambda: all(len(ids) >= 2 for ids in thresholds(receiver.arrivals).values()))
            await deployment.kill_worker()
            await deployment.ship(recording(tmp_path / "more.jsonl", 100, 10))
            await deployment.decided(lambda decision: decision.used == 69 * AVAILABLE // 10, model="m")
            raised = await deployment.records(deployment.topics.alerts)
            found = thresholds(receiver.arrivals)
            assert found[FEISHU] == found[WEBHOOK]
            assert len(found[FEISHU]) == len(set(found[FEISHU])) == 2
            assert {record.key.decode() for record in raised} == set(found[FEISHU])
            _nothing_secret(deployment, tmp_path, receiver)


def _nothing_secret(deployment: Deployment, logs: Path, receiver: Receiver) -> None:
    """Neither URL nor secret stands in a log of any part."""
    text = "".join(path.read_text(errors="replace") for path in logs.glob("*.log"))
    assert text
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        assert channel.secret not in text
        assert channel.url.rsplit("/", 1)[1] not in text
