"""Real workers on a real broker, and whatever may happen to them: every total is the number of records sent."""

from __future__ import annotations

import asyncio
import signal

import pytest

pytestmark = pytest.mark.embedded


async def test_kill_9_three_times_under_load(scene) -> None:
    """A worker killed anywhere leaves nothing to be counted twice and nothing uncounted."""
    async with scene.load():
        for _ in range(3):
            worker = scene.worker()
            await asyncio.to_thread(worker.wait_for, "handled", 60)
            worker.end(signal.SIGKILL)
        scene.worker()
        await asyncio.to_thread(scene.workers[-1].wait_for, "handled", 20)
    await scene.assert_exact()
