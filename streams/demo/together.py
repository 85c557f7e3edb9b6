"""Waiting for one thing while others must not end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


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
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
