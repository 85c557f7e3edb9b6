"""A worker that dies is started again; one that ends by itself, or is stopped, is not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from streams.supervisor import Backoff, Death, Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT_ONCE = Backoff(first=0.01, most=0.02)

# Counts its lives in a file by a byte each; ends with 0 in the life given, with 3 before.
MORTAL = """
import os, sys
path, last = sys.argv[1], int(sys.argv[2])
open(path, "a").write("x")
life = os.path.getsize(path)
print("life", life)
sys.exit(0 if life == last else 3)
"""
DEAF = ["sh", "-c", "trap '' TERM; echo deaf; sleep 60"]


def test_pauses_double_up_to_a_limit() -> None:
    """Each death in a row doubles the pause, never beyond the most."""
    backoff = Backoff(first=0.5, most=3.0, calm=30.0)
    pauses: list[float] = []
    for _ in range(5):
        pauses.append(backoff.after(pauses[-1] if pauses else None, lived=1.0))
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_calm_life_forgets_the_past() -> None:
    """After a life of `calm` seconds the next pause is the first one again."""
    assert Backoff(first=0.5, most=10.0, calm=30.0).after(8.0, lived=30.0) == 0.5


async def test_a_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    """It is started until it ends with 0; each death is told with exit code and last words."""
    deaths: list[Death] = []
    argv = [sys.executable, "-c", MORTAL, str(tmp_path / "lives"), "3"]
    supervisor = Supervisor("mortal", argv, backoff=AT_ONCE, on_death=deaths.append)
    await asyncio.wait_for(supervisor.run(), 10)
    assert supervisor.starts == 3
    assert [(death.returncode, death.last_words) for death in deaths] == [(3, "life 1"), (3, "life 2")]
    assert str(deaths[0]).startswith("mortal ended with 3 after ")


async def test_a_killed_worker_is_started_again() -> None:
    """kill -9 of the worker is a death like any other."""
    deaths: list[Death] = []
    supervisor = Supervisor("sleeper", ["sleep", "60"], backoff=AT_ONCE, on_death=deaths.append)
    task = asyncio.create_task(supervisor.run())
    await until(lambda: supervisor.pid is not None)
    os.kill(first := supervisor.pid or 0, signal.SIGKILL)
    await until(lambda: supervisor.pid not in {None, first})
    assert "was ended by signal 9" in str(deaths[0])
    await supervisor.stop()
    await asyncio.wait_for(task, 5)


async def test_stop_ends_the_worker_and_the_supervision() -> None:
    """After `stop` the worker is gone, its death by our own SIGTERM is not told, and nothing is started again."""
    deaths: list[Death] = []
    supervisor = Supervisor("sleeper", ["sleep", "60"], on_death=deaths.append)
    task = asyncio.create_task(supervisor.run())
    await until(lambda: supervisor.pid is not None)
    await supervisor.stop()
    await asyncio.wait_for(task, 5)
    assert (supervisor.pid, supervisor.starts, deaths) == (None, 1, [])


async def test_stop_between_two_lives() -> None:
    """A pause is cut short by `stop`."""
    died = asyncio.Event()
    supervisor = Supervisor("short", ["false"], backoff=Backoff(first=60.0), on_death=lambda _: died.set())
    task = asyncio.create_task(supervisor.run())
    await asyncio.wait_for(died.wait(), 5)
    await supervisor.stop()
    await asyncio.wait_for(task, 5)
    assert supervisor.starts == 1


async def test_a_worker_deaf_to_sigterm_is_killed() -> None:
    """Patience ends: `stop` returns with the worker gone."""
    supervisor = Supervisor("deaf", DEAF)
    task = asyncio.create_task(supervisor.run())
    await until(lambda: "deaf" in supervisor.last_words())
    await asyncio.wait_for(supervisor.stop(patience=0.1), 60)
    await asyncio.wait_for(task, 5)


async def test_a_cancelled_supervisor_leaves_no_worker() -> None:
    """Cancelling `run` kills the worker before it returns."""
    supervisor = Supervisor("sleeper", ["sleep", "60"])
    task = asyncio.create_task(supervisor.run())
    await until(lambda: supervisor.pid is not None)
    pid = supervisor.pid or 0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_death_is_logged_where_nobody_listens(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Without a listener the log has the death and the last words."""
    argv = [sys.executable, "-c", MORTAL, str(tmp_path / "lives"), "2"]
    await asyncio.wait_for(Supervisor("mortal", argv, backoff=AT_ONCE).run(), 10)
    assert "mortal ended with 3" in caplog.text
    assert "life 1" in caplog.text


async def until(true: Callable[[], bool], within: float = 5.0) -> None:
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110  a process sets no event
            await asyncio.sleep(0.005)
