"""The way to one channel: notes in order within a scope, a few at once, tried again until they arrive or are given up.

A note that has to wait holds up the later ones of its scope and no others; a receiver that is too busy pauses all.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from rules.moment import DAY, Millis
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Note, Result, Sender, Sent
from streams.channels.timing import Timing, backoff

log = logging.getLogger(__name__)

AT_ONCE = 4  # exchanges under way; with a receiver that hangs, 16 alerts a minute still get their attempt
GIVE_UP_AFTER: Millis = DAY


@dataclass(slots=True)
class Parcel:
    """A note on its way. `since`: when the alert was first heard of, also before a restart."""

    partition: int
    note: Note
    since: Millis
    attempts: int = 0


Report = Callable[[Parcel, Outcome], None]
Queue = tuple[int, str]  # partition and scope


class Lane:
    """Delivers to one sender in background tasks, one per scope with notes waiting. `report` hears of every attempt."""

    def __init__(self, sender: Sender, timing: Timing, report: Report, *, at_once: int = AT_ONCE) -> None:
        self._sender = sender
        self._timing = timing
        self._report = report
        self._slots = asyncio.Semaphore(at_once)
        self._queues: dict[Queue, deque[Parcel]] = {}
        self._tasks: dict[Queue, asyncio.Task[None]] = {}
        self._quiet_until = timing.monotonic()
        self._closed = ""  # why nothing more is sent

    def put(self, parcel: Parcel) -> None:
        """Line up behind the notes of the same scope."""
        key = (parcel.partition, parcel.note.alert.scope)
        self._queues.setdefault(key, deque()).append(parcel)
        if key not in self._tasks:
            self._start(key)

    def drop(self, partition: int) -> None:
        """Forget a partition's notes: its next owner delivers them. One under way may arrive twice, with one id."""
        for key in [key for key in self._queues if key[0] == partition]:
            del self._queues[key]
            task = self._tasks.pop(key, None)
            if task is not None:
                task.cancel()

    async def close(self) -> None:
        """End all tasks and wait until they have ended."""
        tasks = list(self._tasks.values())
        self._queues.clear()
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, key: Queue) -> None:
        task = asyncio.create_task(self._drain(key, self._queues[key]), name=f"alerts to {self._sender.name}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: Queue, task: asyncio.Task[None]) -> None:
        """A queue that has run empty is forgotten; one that filled meanwhile goes on."""
        if self._tasks.get(key) is not task:
            return
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery to %s stumbled: %s", self._sender.name, type(error).__name__)
            self._queues[key].popleft()  # reported or not, the same note must not stumble for ever
        if self._queues[key]:
            self._start(key)
        else:
            del self._queues[key]

    async def _drain(self, key: Queue, queue: deque[Parcel]) -> None:
        while queue:
            await self._deliver(queue[0])
            if self._queues.get(key) is not queue:
                return  # dropped while the last word was under way
            queue.popleft()

    async def _deliver(self, parcel: Parcel) -> None:
        while True:
            sent = await self._attempt(parcel)
            outcome = self._outcome(parcel, sent)
            wait = (sent.after or 0.0) + backoff(max(1, parcel.attempts), self._timing.random)
            if sent.throttled:
                self._quiet_until = max(self._quiet_until, self._timing.monotonic() + wait)
            self._report(parcel, outcome)
            if outcome.final:
                return
            await self._timing.sleep(wait)

    async def _attempt(self, parcel: Parcel) -> Sent:
        async with self._slots:
            while (wait := self._quiet_until - self._timing.monotonic()) > 0:
                await self._timing.sleep(wait)
            if self._closed:
                return Sent.refused(self._closed)
            parcel.attempts += 1
            try:
                return await self._sender.send(parcel.note)
            except Exception as error:  # noqa: BLE001 - a sender's mistake must cost neither the alert nor the lane
                # Its text could hold a URL, its type cannot.
                return Sent.retry(f"the sender failed ({type(error).__name__})")

    def _outcome(self, parcel: Parcel, sent: Sent) -> Outcome:
        if sent.gone:
            self._closed = self._closed or f"channel closed: {sent.detail}"
        now = self._timing.now()
        return Outcome(self._progress(parcel, sent, now), now, parcel.attempts, sent.detail)

    def _progress(self, parcel: Parcel, sent: Sent, now: Millis) -> Progress:
        if sent.result is Result.DELIVERED:
            return Progress.DELIVERED
        if sent.result is Result.REFUSED:
            return Progress.REFUSED
        return Progress.GAVE_UP if now - parcel.since >= GIVE_UP_AFTER else Progress.WAITING
