"""The way to one channel: notes in order within a scope, tried again until they arrive or are given up.

A note that has to wait holds up the later ones of its scope and no others. What waits at the same time goes out in one
message; a message that is refused is halved, so that one bad alert takes no others with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from rules.moment import DAY, Millis
from streams.channels.gathering import AT_ONCE, Answer, Gathering, Parcel
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Result, Sender
from streams.channels.timing import Timing

log = logging.getLogger(__name__)

GIVE_UP_AFTER: Millis = DAY

Report = Callable[[Parcel, Outcome], None]
Queue = tuple[int, str]  # partition and scope


class Lane:
    """Delivers to one sender in background tasks, one per scope with notes waiting. `report` hears of every attempt."""

    def __init__(
        self,
        sender: Sender,
        timing: Timing,
        report: Report,
        *,
        most: int = 1,
        window: float = 0.0,
        at_once: int = AT_ONCE,
    ) -> None:
        """`most`: alerts in one message; `window`: seconds that the first of them waits for others."""
        self._name = sender.name
        self._timing = timing
        self._report = report
        self._gathering = Gathering(sender, timing, most=most, window=window, at_once=at_once)
        self._queues: dict[Queue, deque[Parcel]] = {}
        self._tasks: dict[Queue, asyncio.Task[None]] = {}

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

    def hand_over(self) -> list[Parcel]:
        """Everything that waits, each scope's in order, for another lane. One under way may arrive twice, with one
        id."""
        waiting = [parcel for queue in self._queues.values() for parcel in queue]
        self._queues.clear()
        for task in self._tasks.values():
            task.cancel()
        return waiting

    async def close(self) -> None:
        """End all tasks and wait until they have ended."""
        tasks = list(self._tasks.values())
        self._queues.clear()
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._gathering.close()

    def _start(self, key: Queue) -> None:
        task = asyncio.create_task(self._drain(key, self._queues[key]), name=f"alerts to {self._name}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._ended(key, ended))

    def _ended(self, key: Queue, task: asyncio.Task[None]) -> None:
        """A queue that has run empty is forgotten; one that filled meanwhile goes on."""
        if self._tasks.get(key) is not task:
            return
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery to %s stumbled: %s", self._name, type(error).__name__)
            self._queues[key].popleft()  # the same note must not stumble for ever
        if self._queues[key]:
            self._start(key)
        else:
            del self._queues[key]

    async def _drain(self, key: Queue, queue: deque[Parcel]) -> None:
        while queue:
            parcels = self._gathering.share(queue)
            answer = await self._gathering.offer(parcels)
            if self._queues.get(key) is not queue:
                return  # dropped while the last word was under way
            wait = self._heed(queue, parcels, answer)
            if wait:
                await self._timing.sleep(wait)

    def _heed(self, queue: deque[Parcel], parcels: list[Parcel], answer: Answer) -> float:
        """Take what is done with from the queue and report it all; seconds to wait before the next attempt."""
        outcomes = [(parcel, self._outcome(parcel, answer)) for parcel in parcels]
        for _ in parcels:
            queue.popleft()
        queue.extendleft(parcel for parcel, outcome in reversed(outcomes) if not outcome.final)
        for parcel, outcome in outcomes:
            self._tell(parcel, outcome)
        if all(outcome.final for _, outcome in outcomes) or answer.sent.result is Result.REFUSED:
            return 0.0
        return answer.wait

    def _tell(self, parcel: Parcel, outcome: Outcome) -> None:
        try:
            self._report(parcel, outcome)
        except Exception as error:  # noqa: BLE001 - the others of the message have to be reported, too
            log.error("delivery to %s stumbled: %s", self._name, type(error).__name__)

    def _outcome(self, parcel: Parcel, answer: Answer) -> Outcome:
        now, sent = self._timing.now(), answer.sent
        alone = answer.size == 1 or sent.gone
        if not alone and (sent.doubtful or sent.result is Result.REFUSED):
            parcel.most = max(1, answer.size // 2)
        if sent.result is Result.REFUSED and not alone and parcel.attempts:
            detail = f"{sent.detail} (with {answer.size - 1} others, now in smaller messages)"
            return Outcome(Progress.WAITING, now, parcel.attempts, detail)
        return Outcome(self._progress(parcel, sent.result, now), now, parcel.attempts, sent.detail)

    def _progress(self, parcel: Parcel, result: Result, now: Millis) -> Progress:
        if result is Result.DELIVERED:
            return Progress.DELIVERED
        if result is Result.REFUSED:
            return Progress.REFUSED
        return Progress.GAVE_UP if now - parcel.since >= GIVE_UP_AFTER else Progress.WAITING
