"""A policy changes under load: no event is lost, and decisions carry the hash of what is in force."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from streams.policy_file import load_policy
from tests.acceptance.conftest import Deployment, eventually

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(180)]

BATCHES, BATCH, TOKENS = 20, 100, 7


def write(path: Path, cap: int) -> str:
    """A policy with this cap, put in place at once as editors do; its hash."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"models": {"default": {"daily_cap": cap}}, "aliases": {"other": "m"}}))
    beside.replace(path)
    return load_policy(path).hash


def usage(number: int) -> bytes:
    now, model = datetime.now(UTC).isoformat(), ("m", "other")[number % 2]
    event = {"type": "usage", "id": f"u{number}", "ts": now, "model": model, "total_tokens": TOKENS}
    return json.dumps(event).encode()


async def metric(deployment: Deployment, name: str) -> str:
    def read() -> str:
        with urllib.request.urlopen(f"http://{deployment.stack.http[0]}/metrics", timeout=30) as answer:
            return str(answer.read().decode())

    text = await asyncio.to_thread(read)
    return next((line for line in text.splitlines() if line.startswith(name)), "")


async def test_reloads_under_load_lose_nothing(deploy: Callable[..., Any], tmp_path: Path) -> None:
    """2,000 events while the file changes four times, two of them mistakes: every event counts once, under both names
    of the model, and the last valid file is the one that decides."""
    path = tmp_path / "policy.yaml"
    first = write(path, 1_000_000)
    async with deploy(policy=str(path)) as deployment:
        (supervisor,) = deployment.stack.supervisors
        pid = supervisor.pid
        assert pid is not None
        hashes = [first]
        for batch in range(BATCHES):
            await deployment.produce(deployment.topics.usage, *(usage(batch * BATCH + n) for n in range(BATCH)))
            if batch % 8 == 3:
                path.write_text("models: {default: {daily_cap: many}}\n")
                os.kill(pid, signal.SIGHUP)
            elif batch % 8 == 6:
                hashes.append(write(path, 1_000_000 + batch))
                os.kill(pid, signal.SIGHUP)
        wanted = BATCHES * BATCH * TOKENS
        found = await deployment.decided(lambda each: each.used == wanted and each.policy == hashes[-1], "m")
        assert len(set(hashes)) == 3
        assert found.counted == wanted
        assert supervisor.pid == pid  # the same process all the while
        assert hashes[-1] in await metric(deployment, "blastdoor_policy_info")

        path.write_text("mode: nonsense\n")

        async def refused() -> bool:
            return (await metric(deployment, "blastdoor_policy_reload_failed")).endswith(" 1.0")

        await eventually(refused)
        await deployment.produce(deployment.topics.usage, usage(BATCHES * BATCH))
        found = await deployment.decided(lambda each: each.used == wanted + TOKENS, "m")
        assert found.policy == hashes[-1]
