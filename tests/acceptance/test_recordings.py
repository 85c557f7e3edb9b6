"""The two recorded incidents through Kafka, Redis and a real worker, on their own clock."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.contract import Action, Decision

from rules.calendar import Calendar
from rules.replay import Replay
from streams.decision import to_decision
from streams.policy_file import default_rulebook, load_policy
from streams.recording import Recording
from tests.acceptance.conftest import MODEL, RECORDINGS, Deployment

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

LAST = "2026-08-13T11:22:00.000+08:00"
Deploy = Callable[..., Any]


def is_over(decision: Decision) -> bool:
    """The recordings' last instant has been decided."""
    return decision.decided_at == LAST and decision.used == 665_268


def replayed() -> list[Decision]:
    """What `replay` says of the same files."""
    policy, zone = load_policy(None), Calendar().zone
    replay = Replay(policy, default_rulebook(policy), ["interval"])
    found = replay.run(Recording(RECORDINGS, zone).records)
    return [to_decision(each.rulings["interval"], (0, 0), zone) for each in found]


async def history(deployment: Deployment) -> list[Decision]:
    return [Decision.from_json(record.value) for record in await deployment.records(deployment.topics.decisions)]


async def total(deployment: Deployment) -> int | None:
    found = await deployment.decision()
    return None if found is None else found.counted


async def test_the_recordings_lead_to_the_figures_the_console_showed(deploy: Deploy) -> None:
    """Both ends of the pool lie around what the console showed, and Kafka decides exactly as `replay` does."""
    async with deploy(event_clock=True) as deployment:
        await deployment.ship(*RECORDINGS)
        last = await deployment.decided(is_over)
        assert last.pool_low is not None
        assert last.pool_high is not None
        assert last.pool_low <= 2_242_178 <= last.pool_high
        assert last.pool_high - last.pool_low <= 700
        assert last.action is Action.ALLOW
        decided = {decision.decided_at: decision for decision in await history(deployment)}
        for expected in replayed():
            found = decided[expected.decided_at]
            assert _comparable(found) == _comparable(expected)


async def test_a_second_copy_of_the_recordings_changes_nothing(deploy: Deploy, tmp_path: Path) -> None:
    """Shipped again as a copy under another path, no event counts twice."""
    async with deploy(event_clock=True) as deployment:
        await deployment.ship(*RECORDINGS)
        await deployment.decided(is_over)
        before = await total(deployment)
        copies = [Path(shutil.copy(path, tmp_path / f"copy-{path.name}")) for path in RECORDINGS]
        await deployment.ship(*copies)
        await deployment.produce(deployment.topics.usage, _marker(), key=b"marker")
        await deployment.ship(_recording(tmp_path, "2026-08-13T11:23:30+08:00"))
        last = await deployment.decided(lambda decision: decision.decided_at > LAST)
        assert last.counted == (before or 0) + 1


async def test_killing_the_worker_changes_no_total(deploy: Deploy) -> None:
    """Three kill -9 on the way, and every event counts once."""
    async with deploy(event_clock=True) as deployment:
        for _ in range(3):
            await deployment.ship(*RECORDINGS)
            await deployment.kill_worker()
        last = await deployment.decided(is_over)
        assert last.counted == 1_696_135 + 665_268


def _comparable(decision: Decision) -> dict[str, object]:
    """Everything but what belongs to one run or to people: version, birth of the counter, grounds with their places."""
    of_one_run = {"version", "counter", "because"}
    return {name: value for name, value in decision.to_hash().items() if name not in of_one_run}


def _marker() -> bytes:
    return (
        b'{"type":"usage","id":"marker","ts":"2026-08-13T11:22:30+08:00","total_tokens":1,"model":"'
        + MODEL.encode()
        + b'"}'
    )


def _recording(directory: Path, end: str) -> Path:
    """A recording of nothing that counts, whose clock ends at `end`."""
    path = directory / "end.jsonl"
    path.write_text(
        f'{{"type":"usage","id":"end","ts":"{end}","model":"another","total_tokens":1}}\n', encoding="utf-8"
    )
    return path
