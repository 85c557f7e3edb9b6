"""A limit is crossed far and often: people hear of it once at 80 % and once at 100 %, through real channels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rules.alerts import Alert, Kind
from rules.calendar import Calendar
from rules.moment import DAY, HOUR, MINUTE, to_rfc3339
from streams.channels.receiver import FEISHU, THROTTLED, WEBHOOK, Arrival, Receiver
from tests.acceptance.conftest import Deployment

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

START = 1_786_590_000_000  # 2026-08-13T11:00:00+08:00
AVAILABLE = 100_000
CALENDAR = Calendar()


def policy_file(directory: Path, receiver: Receiver, **terms: int) -> Path:
    """Both channels, their secrets in files of their own."""
    channels = {}
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        (directory / f"{kind}.url").write_text(channel.url)
        (directory / f"{kind}.secret").write_text(channel.secret)
        channels[kind] = {"kind": kind, "url": f"file:{kind}.url", "secret": f"file:{kind}.secret"}
    path = directory / "policy.yaml"
    models = {"default": {"small_buffer": 0} | terms}
    path.write_text(
        json.dumps({"alerts": {"send": [FEISHU, WEBHOOK], "group": "0s"}, "channels": channels, "models": models})
    )
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


def returned(path: Path, number: int) -> Path:
    """More comes back than was used."""
    at = to_rfc3339(START + number * MINUTE)
    line = {"type": "balance", "id": f"b{number}", "ts": at, "model": "m", "available": 10 * AVAILABLE}
    path.write_text(json.dumps(line) + "\n")
    return path


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, sorted(lines, key=lambda line: str(line["ts"])))) + "\n")
    return path


def day(first: int, left: int, back: int, calls: tuple[int, ...]) -> list[dict[str, Any]]:
    """A day that begins at `first`: readings every half hour, a return of `back` at two, calls from ten on."""
    lines: list[dict[str, Any]] = []
    times = [first + (601 + 10 * number) * MINUTE for number in range(len(calls))]
    for at in range(first, first + DAY, 30 * MINUTE):
        used = sum(tokens for called, tokens in zip(times, calls, strict=True) if called < at)
        now = left - used + (back if at >= first + 2 * HOUR else 0)
        lines.append({"type": "balance", "id": f"b{at}", "ts": to_rfc3339(at), "model": "m", "available": now})
    for at, tokens in zip(times, calls, strict=True):
        lines.append({"type": "usage", "id": f"u{at}", "ts": to_rfc3339(at), "model": "m", "total_tokens": tokens})
    return lines


def ids(arrivals: list[Arrival], kind: str) -> list[str]:
    """What arrived on one channel, in order. A kill between an answer and its record may repeat one, under its id."""
    return list(dict.fromkeys(each.id for each in arrivals if each.channel == kind))


async def alerts(deployment: Deployment) -> list[Alert]:
    """What was raised, in order. A kill may put an alert onto the topic twice, under one id."""
    records = await deployment.records(deployment.topics.alerts)
    found = [msgspec.json.decode(record.value, type=Alert) for record in records]
    return list({alert.id: alert for alert in found}.values())


async def test_fifty_calls_beyond_the_limit_are_three_alerts(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """One at 80 %, one at 100 %, one because nobody heeds the block, on each channel and under one id; none again after
    a restart, and a return ends both. Feishu throttles first: HTTP 200 with a code is a failure, and the alert is sent
    again."""
    async with Receiver() as receiver:
        receiver.plan(FEISHU, THROTTLED)
        async with deploy(event_clock=True, policy=str(policy_file(tmp_path, receiver))) as deployment:
            await deployment.ship(recording(tmp_path / "first.jsonl", 0, 100))
            await receiver.until(lambda: all(len(ids(receiver.arrivals, kind)) >= 3 for kind in (FEISHU, WEBHOOK)))
            await deployment.ship(recording(tmp_path / "more.jsonl", 100, 10))
            await deployment.decided(lambda decision: decision.used == 69 * AVAILABLE // 10, model="m")
            await deployment.kill_worker()
            await deployment.ship(recording(tmp_path / "rest.jsonl", 110, 10))
            await deployment.decided(lambda decision: decision.used == 79 * AVAILABLE // 10, model="m")
            raised = await alerts(deployment)
            assert [alert.threshold for alert in raised] == [0.8, 1.0, None]
            assert raised[-1].kind is Kind.BLOCK_IGNORED
            for kind in (FEISHU, WEBHOOK):
                assert ids(receiver.arrivals, kind) == [alert.id for alert in raised]
            _nothing_secret(deployment, tmp_path, receiver)
            await deployment.ship(returned(tmp_path / "return.jsonl", 120))
            await receiver.until(lambda: all(len(ids(receiver.arrivals, kind)) >= 5 for kind in (FEISHU, WEBHOOK)))
            back = (await alerts(deployment))[3:]
            assert [(alert.kind, alert.ends[-1].id) for alert in back] == [
                (Kind.RECOVERED, raised[1].id),
                (Kind.RECOVERED, raised[2].id),
            ]
            for kind in (FEISHU, WEBHOOK):
                assert ids(receiver.arrivals, kind)[3:] == [alert.id for alert in back]


async def test_each_day_is_told_anew_whatever_happened_before(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """Cross, window reset, cross again, restart, cross: three alerts at 100 %, each with its recovery in the morning.
    A jump from 70 % to 130 % tells both thresholds; usage equal to the limit has reached it."""
    async with Receiver() as receiver:
        policy = policy_file(tmp_path, receiver, daily_cap=AVAILABLE)
        async with deploy(event_clock=True, policy=str(policy)) as deployment:
            part, first = AVAILABLE // 10, CALENDAR.start("2026-08-13")
            await deployment.ship(
                write(
                    tmp_path / "1.jsonl",
                    day(first, 100 * part, 0, (7 * part, 6 * part))
                    + day(first + DAY, 87 * part, 10 * part, (9 * part, part)),
                )
            )
            await deployment.decided(lambda decision: decision.day == "2026-08-14" and decision.used == AVAILABLE, "m")
            await deployment.kill_worker()
            await deployment.ship(
                write(tmp_path / "2.jsonl", day(first + 2 * DAY, 87 * part, 10 * part, (10 * part + 1,)))
            )
            await receiver.until(lambda: all(len(ids(receiver.arrivals, kind)) >= 8 for kind in (FEISHU, WEBHOOK)))
            raised = await alerts(deployment)
            told = [(alert.window[-2:], alert.kind, alert.threshold, alert.used) for alert in raised]
            assert told == [
                ("13", Kind.THRESHOLD, 0.8, 13 * part),
                ("13", Kind.THRESHOLD, 1.0, 13 * part),
                ("14", Kind.RECOVERED, None, 0),
                ("14", Kind.THRESHOLD, 0.8, 9 * part),
                ("14", Kind.THRESHOLD, 1.0, 10 * part),
                ("15", Kind.RECOVERED, None, 0),
                ("15", Kind.THRESHOLD, 0.8, 10 * part + 1),
                ("15", Kind.THRESHOLD, 1.0, 10 * part + 1),
            ]
            for kind in (FEISHU, WEBHOOK):
                assert ids(receiver.arrivals, kind) == [alert.id for alert in raised]


def _nothing_secret(deployment: Deployment, logs: Path, receiver: Receiver) -> None:
    """Neither URL nor secret stands in a log of any part."""
    text = "".join(path.read_text(errors="replace") for path in logs.glob("*.log"))
    assert text
    for kind in (FEISHU, WEBHOOK):
        channel = receiver.channel(kind)
        assert channel.secret not in text
        assert channel.url.rsplit("/", 1)[1] not in text
