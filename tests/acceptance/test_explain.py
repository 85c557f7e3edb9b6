"""A decision made from Kafka is explained from its history, and as the recording itself explains it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.commands.explain import command
from tests.acceptance.conftest import MODEL, RECORDINGS, Deployment
from tests.acceptance.test_recordings import is_over

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(120)]

FILES = [word for path in RECORDINGS for word in ("--from", str(path))]
AT = "2026-08-13 11:08"


async def run(*arguments: str) -> Result:
    """The command in a thread of its own: it brings its own event loop."""
    return await asyncio.to_thread(CliRunner().invoke, command, [MODEL, *arguments])


async def explained(*arguments: str) -> Any:
    found = await run(*arguments, "--json")
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def without_places(told: Any) -> Any:
    """What must not depend on where a record stood, and the counter's end, which a quiet file does not know."""
    for step in told["steps"]:
        step.pop("origin", None)
    for end in told["pool"].values():
        end.pop("origin", None)
    return {name: value for name, value in told.items() if name not in {"origin", "version", "positions"}}


def source(deployment: Deployment) -> list[str]:
    return ["--kafka", deployment.stack.kafka, "--clock", "event"]


async def test_the_history_explains_what_the_recording_explains(deploy: Callable[..., Any]) -> None:
    """The newest decision, and the one in force at 11:08: the same numbers from Kafka and from the files, and on Kafka
    with the positions of the decision, of each reading and of usage."""
    async with deploy(event_clock=True) as deployment:
        await deployment.ship(*RECORDINGS)
        await deployment.decided(is_over)
        newest = await explained(*source(deployment))
        earlier = await explained(*source(deployment), "--at", AT)
        text = await run(*source(deployment))
        topics = deployment.topics
        assert earlier["at"] == "2026-08-13T11:08:00.000+08:00"
        assert newest["origin"].startswith(f"{topics.decisions_latest}/")
        assert earlier["origin"].startswith(f"{topics.decisions}/")
        readings = [step for step in newest["steps"] if step["kind"] == "reading"]
        assert all(step["origin"].startswith(f"{topics.balances}/") for step in readings)
        assert sum(newest["positions"].values()) >= 388
        assert without_places(newest) == without_places(await explained(*FILES))
        assert without_places(earlier) == without_places(await explained(*FILES, "--at", AT))
        assert f"{topics.balances}/" in text.stdout


async def test_what_is_not_known_yet_is_explained_too(deploy: Callable[..., Any]) -> None:
    """On the wall clock, a minute after metering began: why there is no limit, and when there will be one. A model of
    which nothing was decided, and a time before the first decision, end with 3."""
    async with deploy() as deployment:
        now = datetime.now(UTC).isoformat()
        balance = {"type": "balance", "id": "bal-1", "ts": now, "model": "m", "available": 500_000, "unit": "token"}
        await deployment.produce(deployment.topics.balances, json.dumps(balance).encode(), key=b"m")
        await deployment.decided(lambda decision: decision.readings == ("bal-1",), "m")
        wall = ["--kafka", deployment.stack.kafka]
        found = await asyncio.to_thread(CliRunner().invoke, command, ["m", *wall])
        unknown = await asyncio.to_thread(CliRunner().invoke, command, ["mm", *wall])
        early = await asyncio.to_thread(CliRunner().invoke, command, ["m", *wall, "--at", "2026-08-11"])
    assert found.exit_code == 0
    assert "The limit: unknown; 0 tokens used today" in found.stdout
    assert "metering has not run for the lag bound yet" in found.stdout
    assert "reading bal-1 said 500,000 (newest)" in found.stdout
    assert unknown.exit_code == 3
    assert "did you mean 'm'" in unknown.stderr
    assert early.exit_code == 3
    assert "does not reach back" in early.stderr
