"""Keeps a worker running. A worker ends at the first error that is not about one record; this starts it again.

Never gives up: the cause may be a broker that is away for an hour. Each death is told with the exit code and the
worker's last words.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streams.embedded.children import Child

MISUSE = 2
"""The exit code of a worker that cannot use its options or its policy. Starting it again would not help."""

POLL_SECONDS = 0.02

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds between a death and the next start: `first`, doubling to `most`, `first` again after `calm` seconds."""

    first: float = 0.5
    most: float = 10.0
    calm: float = 30.0

    def after(self, last: float | None, lived: float) -> float:
        if last is None or lived >= self.calm:
            return self.first
        return min(self.most, last * 2)


@dataclass(frozen=True, slots=True)
class Death:
    """How a worker ended. `returncode` is negative for a signal."""

    name: str
    returncode: int
    lived: float
    last_words: str

    def __str__(self) -> str:
        how = f"was ended by signal {-self.returncode}" if self.returncode < 0 else f"ended with {self.returncode}"
        return f"{self.name} {how} after {self.lived:.1f} s"


class Supervisor:
    """Runs `argv` until it ends with 0 or `stop` is called. Everything here happens on the main thread's event loop."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        *,
        backoff: Backoff = Backoff(),
        log: Path | None = None,
        on_death: Callable[[Death], None] | None = None,
    ) -> None:
        self.name = name
        self.argv = argv
        self.starts = 0
        self.deaths = 0
        self.last_death: Death | None = None
        self._backoff = backoff
        self._log = log
        self._on_death = on_death or _log_death
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """Of the worker that runs now; None between two."""
        return self._child.pid if self._child is not None else None

    async def run(self) -> None:
        """Returns when the worker has ended with 0 or after `stop`. Cancelled, it kills the worker."""
        pause: float | None = None
        while not self._stopping.is_set():
            death = await self._one_life()
            if death.returncode == 0 or self._stopping.is_set():
                return
            self.deaths += 1
            self.last_death = death
            self._on_death(death)
            pause = self._backoff.after(pause, death.lived)
            await self._pause(pause)

    async def stop(self, patience: float = 10.0) -> None:
        """SIGTERM, then after `patience` seconds SIGKILL; returns when the worker is gone."""
        self._stopping.set()
        if (child := self._child) is not None:
            child.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(_end(child), patience)
            child.kill()

    def kill(self) -> None:
        """The same at once, without an event loop."""
        self._stopping.set()
        if self._child is not None:
            self._child.kill()

    def last_words(self) -> str:
        """The end of what the worker that runs now has said."""
        return self._child.tail() if self._child is not None else ""

    async def _one_life(self) -> Death:
        born = time.monotonic()
        self._child = child = Child(self.name, self.argv, log=self._log)
        self.starts += 1
        try:
            await _end(child)
        finally:
            returncode = child.kill()
            self._child = None
        return Death(self.name, returncode, time.monotonic() - born, child.tail())

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


async def _end(child: Child) -> None:
    """Looks at the child now and then: a thread that waits would be one more thing to end."""
    while child.returncode is None:  # noqa: ASYNC110  a process sets no event
        await asyncio.sleep(POLL_SECONDS)


def _log_death(death: Death) -> None:
    logger.error("%s; starting it again\n%s", death, death.last_words)
