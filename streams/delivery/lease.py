"""One partition in the hands of one step: what has been handled, what of it is safe, and the loop that makes it so."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.delivery.backlog import Backlog
from streams.delivery.book import Book, Page
from streams.delivery.errors import LogChangedError
from streams.delivery.resume import Resume, fingerprint
from streams.delivery.rows import Place
from streams.delivery.send import Sender
from streams.delivery.step import Flush, Moment, Observer, Progress, Record, Step
from streams.delivery.turns import Turns

# A step is asked at least this often, so that it can act on time alone, and no more often while the worker is behind.
IDLE_SECONDS = 1.0
# While it is, rows and places wait longer: most of what one whole flush writes is written again by the next one. What
# was handled since is handled again after a crash. A watchdog waits three times as long for a position to move.
BEHIND_SECONDS = 10.0
# So they do after many records, though less: of many tenants a flush writes mostly what the one before has written.
BUSY, BUSY_SECONDS = 100, 5.0
STOP_SECONDS = 1.0
TURN = 0.618  # of a round between one partition and the next: any number of them are spread evenly
MAX_AHEAD = (
    100_000  # offsets handled since the last flush began; beyond them handling waits, which bounds what a step holds
)
_NOTHING = Flush()


class Term(NamedTuple):
    """A membership of the group in one of its generations."""

    member: str
    generation: int

    def follows(self, other: Term) -> bool:
        """Whether nobody else can have held a partition in between: a member that was expelled gets another name."""
        return self.member == other.member and self.generation == other.generation + 1


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a lease needs of the worker around it."""

    sender: Sender
    observer: Observer
    end_of: Callable[
        [str, int], tuple[int | None, bool]
    ]  # topic, partition -> offset after its last record; whether that is fresh
    fail: Callable[[BaseException, str], None]
    backlog: Backlog = field(default_factory=Backlog)
    turns: Turns = field(default_factory=Turns)


class Lease:
    """Batches are handled at once and flushed in the background: outputs, then rows, then the place.

    Only then is a position safe.
    """

    def __init__(self, step: Step, partition: int, changelog: str, book: Book, around: Surroundings) -> None:
        self.step = step
        self.partition = partition
        self.position = 0  # handled
        self.flushed = -1  # safe; below any offset until the first flush
        self.term = Term("", -1)  # in which the partition is ours
        self.stored_at = -1  # offset on the changelog of the first row of the last flush
        self._changelog = changelog
        self._book = book
        self._around = around
        self._incarnation = 0
        self._record = ""  # fingerprint of the record before `position`, as of the last flush
        self._last: Record | None = None  # handled since
        self._begun = 0  # position of the last flush begun
        self._began_at = self._placed_at = 0.0
        self._changed, self._pressed, self._room = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._current = asyncio.Event()  # hardly anything is left to handle, here or elsewhere
        self._ending = self._stopped = False
        self._loop: asyncio.Task[None] | None = None

    def __str__(self) -> str:
        return f"{self.step.name}/{self.partition}"

    @property
    def place(self) -> Place:
        """Where the partition stands, safe or not."""
        record = self._record if self._last is None else fingerprint(self._last)
        return Place(flush=self._book.flush, incarnation=self._incarnation, position=self.position, record=record)

    @property
    def progress(self) -> Progress:
        end, _ = self._around.end_of(self.step.topic, self.partition)
        return Progress(self.step.name, self.partition, self.position, max(self.flushed, 0), end)

    @property
    def started(self) -> bool:
        return self._loop is not None

    @property
    def settled(self) -> bool:
        """Everything handled is safe and nothing is going on."""
        return self._loop is None and self.flushed == self.position

    def resume(self, at: Resume, record: str, term: Term) -> None:
        """Where a new owner goes on, with the fingerprint of the record before."""
        self.position = self._begun = at.position
        self.term = term
        self._incarnation = at.incarnation
        self._record = "" if at.replaced or at.lost else record

    def start(self) -> None:
        """Begin to flush."""
        self._ending = False
        self._loop = asyncio.create_task(self._flush_until_settled(), name=f"flush {self}")

    def touch(self) -> None:
        """Ask for a flush soon."""
        self._changed.set()

    def handle(self, records: Sequence[Record]) -> None:
        began = time.perf_counter()
        self.step.handle(self.partition, records)
        self._last = records[-1]
        self.position = self._last.offset + 1
        self._changed.set()
        self._around.backlog.note(self.position, self._end())
        if not self._around.backlog.lasts:
            self._current.set()
        self._around.observer.handled(self.step.name, self.partition, len(records), time.perf_counter() - began)

    def advance(self, position: int) -> None:
        """All records before `position` were handled: the offsets in between have none, or none any more."""
        self.position = max(self.position, position)

    async def room(self) -> None:
        """Wait until the flushes are near enough to the handling."""
        while self.position - self._begun >= MAX_AHEAD and self._loop is not None:
            self._room.clear()
            self._press()
            await self._room.wait()

    async def settle(self) -> None:
        """One more flush, then no more."""
        if self._loop is not None:
            self._ending = True
            self._press()
            await self._loop
            self._loop = None

    async def stop(self) -> None:
        """No more flushes, not even of what was handled. One under way may still find out that it must withdraw."""
        if self._loop is not None:
            self._ending = self._stopped = True
            self._press()
            await asyncio.wait([self._loop], timeout=STOP_SECONDS)
            self._loop.cancel()
            self._loop = None

    def _press(self) -> None:
        self._changed.set()
        self._pressed.set()
        self._current.set()

    async def _flush_until_settled(self) -> None:
        try:
            while not self._ending:
                await self._flush()
                await self._due()
            if not self._stopped:
                await self._flush()
        except Exception as error:  # noqa: BLE001 - whatever it is, the state in memory is no longer what is stored
            self._around.fail(error, f"flushing {self}")
        finally:
            self._room.set()

    async def _due(self) -> None:
        await _wait(self._changed, IDLE_SECONDS)
        await _wait(self._pressed, _tick_after(self._began_at, self.step.interval) - time.monotonic())
        if self._around.backlog.lasts:
            await _wait(self._current, self._began_at + IDLE_SECONDS - time.monotonic())

    async def _flush(self) -> None:
        began = self._began_at = time.monotonic()
        for event in (self._changed, self._pressed, self._current):
            event.clear()
        async with self._around.turns:
            whole = self._ending or self._book.is_new or self._comes_round(began)
            position, flush, page = self._take(whole=whole)
        self._room.set()
        if flush.outputs:
            await self._around.sender.send(flush.outputs)
        if page is not None:
            await self._store(page)
            self.flushed, self._placed_at = position, began
        if page is not None or flush.outputs:
            taken = time.monotonic() - began
            self._around.observer.flushed(self.step.name, self.partition, len(flush.outputs), len(flush.rows), taken)

    def _take(self, *, whole: bool) -> tuple[int, Flush, Page | None]:
        """What is to be sent and kept of all that was handled so far, encoded: the step may change it from here on."""
        position = self._begun = self.position
        flush = self.step.flush(self.partition, self._moment(whole)) or _NOTHING
        if self._last is not None:
            self._record, self._last = fingerprint(self._last), None
        return position, flush, self._page(flush, position, whole)

    def _comes_round(self, at: float) -> bool:
        """Whether a whole flush is due by then. Partitions take turns, as a whole flush costs most."""
        seconds = BUSY_SECONDS if self.position - self.flushed > BUSY else IDLE_SECONDS
        if self._around.backlog.lasts:
            seconds = BEHIND_SECONDS
        now, before = (int(then / seconds + self.partition * TURN) for then in (at, self._placed_at))
        return now > before

    def _page(self, flush: Flush, position: int, whole: bool) -> Page | None:
        """What to write; a position alone is not worth a row more than once in a while."""
        if not (flush.rows or (whole and (self._book.unfinished or position != self.flushed))):
            return None
        return self._book.write(flush.rows, incarnation=self._incarnation, position=position, record=self._record)

    async def _store(self, page: Page) -> None:
        sender, before = self._around.sender, self.stored_at
        self.stored_at = await sender.append(self._changelog, self.partition, page.entries)
        if self.stored_at <= before:
            # Another broker, or one that has lost what it had acknowledged: a place must not outlive its rows.
            await sender.append(self._changelog, self.partition, self._book.withdrawal)
            where = f"{self._changelog}/{self.partition}"
            msg = f"{where} has gone back from offset {before} to {self.stored_at}: rows are lost"
            raise LogChangedError(msg)
        self._book.close()

    def _moment(self, whole: bool) -> Moment:
        end, fresh = self._around.end_of(self.step.topic, self.partition)
        at_end = fresh and end is not None and self.position >= end
        return Moment(self.position, at_end, time.time_ns() // 1_000_000, whole)

    def _end(self) -> int | None:
        return self._around.end_of(self.step.topic, self.partition)[0]


def _tick_after(began: float, interval: float) -> float:
    """About an interval after `began`, when all partitions flush: what they send together goes together."""
    return math.ceil(began / interval + 0.5) * interval if interval else began


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """For `event`, which time sets as well: a timeout would cancel, and costs as much again."""
    if seconds > 0 and not event.is_set():
        timer = asyncio.get_running_loop().call_later(seconds, event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()
