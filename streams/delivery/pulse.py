"""Notices when the event loop itself stands still: then the watchdog stands still with it, and heartbeats go on all the
same, as Faust sends them from a thread of its own. The group would believe in this worker for ever, nobody would take
its partitions, and each rebalance would wait for it.

Time is told in looks, not by a clock: a process that was stopped as a whole has not looked, and is given its time.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STILL_SECONDS = 30.0  # as long as a position may stand
LOOK_EVERY = 1.0
CALLS_TOLD = 10

logger = logging.getLogger(__name__)


class Pulse:
    """Asks a loop to answer, and counts the looks until it does."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._answered = threading.Event()
        self._looks = 0
        self._ask()

    def is_still(self) -> bool:
        """Look, from any thread: whether it has not answered for too long."""
        if self._answered.is_set():
            self._looks = 0
            self._ask()
        else:
            self._looks += 1
        return self._looks * LOOK_EVERY >= STILL_SECONDS

    def _ask(self) -> None:
        self._answered.clear()
        self._loop.call_soon_threadsafe(self._answered.set)


@contextmanager
def felt(end: Callable[[], object]) -> Iterator[None]:
    """Feel the pulse of the running loop meanwhile. `end`: called on another thread when it stands still; it ends the
    process without the loop."""
    over, pulse = threading.Event(), Pulse(asyncio.get_running_loop())

    def feel() -> None:
        while not over.wait(LOOK_EVERY):
            if pulse.is_still():
                end()
                return

    thread = threading.Thread(target=feel, name="pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def tell_where() -> None:
    """Log what the main thread is doing, the innermost call first."""
    stack = traceback.extract_stack(sys._current_frames()[threading.main_thread().ident or 0])
    calls = [f"{call.name} ({Path(call.filename).name}:{call.lineno})" for call in reversed(stack[-CALLS_TOLD:])]
    logger.critical("stopping: the event loop has stood still for %.0f s, in %s", STILL_SECONDS, ", ".join(calls))
