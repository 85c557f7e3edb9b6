"""A decision made from Kafka is explained from its history, and as the recording itself explains it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
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


async def test_an_unknown_model_is_told_with_the_known_ones(deploy: Callable[..., Any]) -> None:
    """Exit code 3 and the names there are; a time before the first decision is told, too."""
    async with deploy(event_clock=True) as deployment:
        await deployment.ship(*RECORDINGS)
        await deployment.decided(is_over)
        unknown = await asyncio.to_thread(CliRunner().invoke, command, ["deepseek-v4", *source(deployment)])
        early = await run(*source(deployment), "--at", "2026-08-11")
    assert unknown.exit_code == 3
    assert MODEL in unknown.stderr
    assert early.exit_code == 3
    assert "does not reach back" in early.stderr
