"""Notes that wait at the same time for one channel go out together, a few exchanges at once, and none while the
receiver asked for quiet.

    offers of several scopes ──window──> groups ──slots, quiet──> sender ──> one answer for all of a group
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from rules.moment import Millis
from streams.channels.gathered import gathered
from streams.channels.sender import Note, Sender, Sent
from streams.channels.timing import Timing, backoff

AT_ONCE = 4  # exchanges under way; with a receiver that hangs, 16 messages a minute still get their attempt


@dataclass(slots=True)
class Parcel:
    """A note on its way. `since`: when the alert was first heard of, also before a restart."""

    partition: int
    note: Note
    since: Millis
    attempts: int = 0
    most: int = 1_000_000  # may travel with so many at most, itself included


class Answer(NamedTuple):
    """What became of a group. `wait`: seconds until another attempt, the same for all, so that they meet again."""

    sent: Sent
    size: int
    wait: float


@dataclass(slots=True)
class Offer:
    """Parcels of one scope, in their order; they go together or not at all."""

    parcels: Sequence[Parcel]
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Gathering:
    """The last stretch to one sender. `most`: alerts in one message; `window`: seconds to wait for company."""

    def __init__(self, sender: Sender, timing: Timing, *, most: int, window: float, at_once: int = AT_ONCE) -> None:
        self._sender = sender
        self._timing = timing
        self._most = most
        self._window = window
        self._slots = asyncio.Semaphore(at_once)
        self._offers: list[Offer] = []
        self._collecting: asyncio.Task[None] | None = None
        self._exchanges: set[asyncio.Task[None]] = set()
        self._quiet_until = timing.monotonic()
        self._closed = ""  # why nothing more is sent

    def share(self, queue: Iterable[Parcel]) -> list[Parcel]:
        """As many from the head of a scope's queue as may go in one message."""
        taken: list[Parcel] = []
        for parcel in queue:
            if len(taken) >= min(self._most, parcel.most, *(each.most for each in taken)):
                break
            taken.append(parcel)
        return taken

    async def offer(self, parcels: Sequence[Parcel]) -> Answer:
        """One attempt, in the company of what else waits. Cancelled, it leaves the group."""
        if self._most == 1:
            return await self._exchange(parcels)
        offer = Offer(parcels)
        self._offers.append(offer)
        if self._collecting is None:
            self._collecting = asyncio.create_task(self._collect())
        return await offer.answer

    async def close(self) -> None:
        """End what is under way."""
        tasks = [*self._exchanges, *([self._collecting] if self._collecting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._collecting = None

    async def _collect(self) -> None:
        if self._window:
            await self._timing.sleep(self._window)
        await self._silence()
        waiting = [offer for offer in self._offers if not offer.answer.done()]
        self._offers, self._collecting = [], None
        for group in groups(waiting, self._most):
            task = asyncio.create_task(self._tell(group), name=f"alerts to {self._sender.name}")
            self._exchanges.add(task)
            task.add_done_callback(self._exchanges.discard)
            for offer in group:
                offer.answer.add_done_callback(partial(_abandon, task, group))

    async def _tell(self, group: Sequence[Offer]) -> None:
        answer = await self._exchange([parcel for offer in group for parcel in offer.parcels])
        for offer in group:
            if not offer.answer.done():
                offer.answer.set_result(answer)

    async def _exchange(self, parcels: Sequence[Parcel]) -> Answer:
        async with self._slots:
            await self._silence()
            sent = Sent.refused(self._closed) if self._closed else await self._attempt(parcels)
        if sent.gone:
            self._closed = self._closed or f"channel closed: {sent.detail}"
        wait = (sent.after or 0.0) + backoff(max(1, *(parcel.attempts for parcel in parcels)), self._timing.random)
        if sent.throttled:
            self._quiet_until = max(self._quiet_until, self._timing.monotonic() + wait)
        return Answer(sent, len(parcels), wait)

    async def _attempt(self, parcels: Sequence[Parcel]) -> Sent:
        for parcel in parcels:
            parcel.attempts += 1
        try:
            return await self._sender.send(gathered([parcel.note for parcel in parcels]))
        except Exception as error:  # noqa: BLE001 - a sender's mistake must cost neither the alert nor the lane
            # Its text could hold a URL, its type cannot.
            return Sent.retry(f"the sender failed ({type(error).__name__})", doubtful=True)

    async def _silence(self) -> None:
        while (wait := self._quiet_until - self._timing.monotonic()) > 0:
            await self._timing.sleep(wait)


def groups(offers: Iterable[Offer], most: int) -> list[list[Offer]]:
    """Each offer into the first group that has room for it; no group larger than any of its parcels allows."""
    found: list[tuple[list[Offer], int]] = []
    for offer in offers:
        room = min(most, *(parcel.most for parcel in offer.parcels))
        for place, (group, limit) in enumerate(found):
            both = min(room, limit)
            if sum(len(each.parcels) for each in group) + len(offer.parcels) <= both:
                group.append(offer)
                found[place] = (group, both)
                break
        else:
            found.append(([offer], room))
    return [group for group, _ in found]


def _abandon(task: asyncio.Task[None], group: Sequence[Offer], _: object) -> None:
    """Nobody waits for the answer any more."""
    if all(offer.answer.cancelled() for offer in group):
        task.cancel()
