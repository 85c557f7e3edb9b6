"""Beside `notify`: looks around now and then, and raises alerts about what blastdoor stands on.

Only the owner of the alerts' partition looks, so that two workers do not tell the same twice. What was told is a row of
`notify`; the alerts go onto the topic like all others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

from rules.alerts import Alert
from rules.calendar import Calendar
from rules.episodes import Episode
from rules.own_alerts import tell
from rules.policy import Alerting
from rules.stored_rows import reading
from rules.surroundings import Sample, Surroundings, conditions
from streams.channels.timing import Timing

SCOPE = "engine"
ROW = "watch"
PAUSE = 20.0  # seconds between two looks


class Lookout(Protocol):
    """Who looks."""

    async def look(self) -> Sample: ...
    async def close(self) -> None: ...


class Watched(Struct, kw_only=True):
    """The row: what is remembered and what was told."""

    known: Surroundings = field(default_factory=Surroundings)
    episodes: dict[str, Episode] = {}


class Watchman:
    """Asks the lookout every `pause` seconds while it is on duty."""

    def __init__(
        self, lookout: Lookout, alerting: Alerting, calendar: Calendar, timing: Timing, *, pause: float = PAUSE
    ) -> None:
        self._lookout = lookout
        self._alerting = alerting
        self._calendar = calendar
        self._timing = timing
        self._pause = pause
        self._watched = Watched()
        self._alerts: list[Alert] = []
        self._task: asyncio.Task[None] | None = None

    def begin(self, row: Any, touch: Callable[[], None], fail: Callable[[BaseException], None]) -> None:
        """Go on duty, with what an earlier one remembered. `touch` asks for a flush."""
        self.end()
        with reading(ROW):
            self._watched = Watched() if row is None else msgspec.convert(row, Watched, str_keys=True)
        self._task = asyncio.create_task(self._watch(touch), name="watch")
        self._task.add_done_callback(lambda task: _report(task, fail))

    def adopt(self, alerting: Alerting) -> None:
        """Go on with these terms."""
        self._alerting = alerting

    def end(self) -> None:
        """Go off duty: somebody else looks from now on."""
        if self._task is not None:
            self._task.cancel()
        self._task, self._alerts = None, []

    async def close(self) -> None:
        """Off duty for good."""
        task = self._task
        self.end()
        if task is not None:
            with suppress(asyncio.CancelledError):
                await task
        await self._lookout.close()

    def take(self) -> tuple[list[Alert], dict[str, Any]]:
        """The alerts since the last call, and the row that remembers them. No row without an alert: what is known but
        not told is found out again."""
        if not self._alerts:
            return [], {}
        alerts, self._alerts = self._alerts, []
        return alerts, {ROW: msgspec.to_builtins(self._watched)}

    async def _watch(self, touch: Callable[[], None]) -> None:
        while True:
            self._heed(await self._lookout.look())
            if self._alerts:
                touch()
            await self._timing.sleep(self._pause)

    def _heed(self, sample: Sample) -> None:
        watched = self._watched
        watched.known.add(sample)
        holding = conditions(watched.known, self._alerting.watch, sample.at)
        day = self._calendar.day(sample.at)
        alerts, watched.episodes = tell(SCOPE, holding, watched.episodes, day, sample.at, self._alerting)
        self._alerts += alerts


def _report(task: asyncio.Task[None], fail: Callable[[BaseException], None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        fail(error)
