"""Waiting for one thing while others must not end."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

GRACE_SECONDS = 2.0


async def unless(wanted: Coroutine[Any, Any, T], *guards: Coroutine[Any, Any, Any]) -> T:
    """The result of `wanted`. A guard that raises first ends it with that error; all have ended on return."""
    main = asyncio.create_task(wanted)
    tasks = [main, *(asyncio.create_task(guard) for guard in guards)]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done - {main}:
            task.result()
        return await main
    finally:
        await _end(tasks)


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Who tidies up for too long (a producer whose broker is gone waits for it) is told twice."""
    for _ in range(2):
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)
