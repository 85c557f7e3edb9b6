"""All partitions of a worker: taking them over, putting them down before a rebalance, and why the process ends."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from typing import Protocol

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from faust.types import TP

from rules.stored_rows import UnknownRowError
from streams.delivery.backlog import Backlog
from streams.delivery.book import Book, value_of
from streams.delivery.errors import DeliveryError, LogChangedError, MalformedRowError
from streams.delivery.lease import Lease, Surroundings, Term
from streams.delivery.log import PartitionLog, inspect
from streams.delivery.resume import Found, Resume, resume
from streams.delivery.rows import SCHEMA, Recovered, new_owner, recover
from streams.delivery.send import Sender
from streams.delivery.step import Observer, Progress, Record, Restored, Step
from streams.delivery.table import RawTable
from streams.delivery.turns import Turns
from streams.topics import BrokerUnavailable, TopicError

logger = logging.getLogger(__name__)


class Source(Protocol):
    """The group's consumer, as the delivery sees it."""

    def end_of(self, topic: str, partition: int) -> tuple[int | None, bool]:
        """The offset after the last record, and whether the broker has said so in the last two seconds."""

    async def start_at(self, positions: Mapping[TP, int]) -> None:
        """Go on fetching at these positions, and nothing else."""


class Delivery:
    """Which partitions are in whose hands. Everything here runs in one event loop."""

    def __init__(self, kafka: str, observer: Observer) -> None:
        self.kafka = kafka
        self.steps: dict[str, Step] = {}  # by topic
        self.tables: dict[str, RawTable] = {}  # by the step's topic
        self.leases: dict[TP, Lease] = {}
        self.sender = Sender(kafka)
        self.observer = observer
        self.backlog = Backlog()
        self.turns = Turns()
        self.source: Source | None = None
        self.failure: str | None = None
        self.failed = asyncio.Event()
        self.waiting_since: float | None = None  # for partitions, in monotonic seconds; None while they are handled
        self._term = Term("", -1)
        self._due: set[TP] = set()  # assigned, not yet taken over
        self._taking: asyncio.Task[None] | None = None

    def add(self, step: Step, table: RawTable) -> None:
        """Declare a step. One topic has one step."""
        if step.topic in self.steps:
            msg = f"topic {step.topic} already has the step {self.steps[step.topic].name}"
            raise ValueError(msg)
        self.steps[step.topic] = step
        self.tables[step.topic] = table

    def progress(self) -> list[Progress]:
        """How far each partition is."""
        return [lease.progress for lease in self.leases.values()]

    def committable(self) -> dict[TP, int]:
        """The positions that may be committed."""
        return {tp: lease.flushed for tp, lease in self.leases.items() if lease.flushed >= 0}

    def fail(self, error: BaseException, where: str = "") -> None:
        """End the process, as what is in memory may no longer become what is stored. The first reason counts."""
        if self.failure is not None:
            return
        expected = isinstance(error, DeliveryError | BrokerUnavailable | TopicError | KafkaError | OSError)
        told = str(error) if expected and not isinstance(error, KafkaError) else repr(error)
        self.failure = f"{where}: {told}" if where else told
        logger.critical("stopping: %s", self.failure, exc_info=None if expected else error)
        self.observer.failed(self.failure)
        self.failed.set()

    def expect(self, assigned: Collection[TP], term: Term, restored_to: MutableMapping[TP, int]) -> None:
        """The group has spoken; `restored_to`, offsets of changelogs already read, is set to what is really in hand.

        A partition that comes back in the very next term was nobody else's in between: its state in memory goes on.
        """
        mine = {tp for tp in assigned if tp.topic in self.steps}
        if missing := {self._changelog(tp) for tp in mine} - set(assigned):
            lacking = "/".join(map(str, min(missing)))
            msg = f"assigned without {lacking}: without its rows a partition would be counted from nothing"
            raise DeliveryError(msg)
        for tp, lease in list(self.leases.items()):
            if tp in mine and lease.settled and term.follows(lease.term):
                lease.term = term
                restored_to[self._changelog(tp)] = lease.stored_at
            else:
                self._drop(tp)
        self._term = term
        self._due = mine - self.leases.keys()
        for tp in self._due:
            self.tables[tp.topic].take(tp.partition)
            restored_to.pop(self._changelog(tp), None)
        self.waiting_since = time.monotonic() if mine else None
        self.observer.rebalanced(len(self.leases), len(self._due))

    def restore(self, changelog: TP, records: Iterable[Record]) -> None:
        """Rows of a changelog, in its order."""
        for topic, table in self.tables.items():
            if table.changelog_topic_name == changelog.topic and TP(topic, changelog.partition) in self._due:
                table.restore(changelog.partition, records)
                self.waiting_since = time.monotonic()

    async def take_up(self) -> bool:
        """Give the restored partitions to their steps and let records come. False if a rebalance came first."""
        taking = self._taking = asyncio.create_task(self._take_up())
        try:
            await asyncio.wait([taking])
        except asyncio.CancelledError:
            taking.cancel()
            raise
        if taking.cancelled():
            return False
        taking.result()
        return True

    async def put_down(self) -> None:
        """Make everything handled safe and handle no more, before partitions go elsewhere."""
        self.waiting_since = time.monotonic()
        await self._interrupt()
        await asyncio.gather(*(lease.settle() for lease in self.leases.values()))

    async def release(self) -> None:
        """Forget all partitions; what is not yet safe is left to be handled again."""
        await self._interrupt()
        await asyncio.gather(*(lease.stop() for lease in self.leases.values()))
        for tp in list(self.leases):
            self._drop(tp)

    async def _interrupt(self) -> None:
        """Take nothing over any more."""
        if self._taking is not None and not self._taking.done():
            self._taking.cancel()
            await asyncio.wait([self._taking])

    def _drop(self, tp: TP) -> None:
        lease = self.leases.pop(tp)
        lease.step.revoked(tp.partition)
        self.observer.revoked(lease.step.name, tp.partition)

    def _changelog(self, tp: TP) -> TP:
        return TP(self.tables[tp.topic].changelog_topic_name, tp.partition)

    async def _take_up(self) -> None:
        recovered = {tp: self._recover(tp) for tp in self._due}
        kept = {tp: lease.place for tp, lease in self.leases.items()}
        places = kept | {tp: found.place for tp, found in recovered.items()}
        look = await inspect(
            self.kafka, {TopicPartition(*tp): place.position if place else 0 for tp, place in places.items()}
        )
        for tp, place in kept.items():
            if resume(place, look[TopicPartition(*tp)])[:2] != (place.position, place.incarnation):
                msg = f"the log of {tp.topic}/{tp.partition} was replaced or shortened below offset {place.position}"
                raise LogChangedError(msg)
        await asyncio.gather(*(self._assign(tp, state, look[TopicPartition(*tp)]) for tp, state in recovered.items()))
        for lease in self.leases.values():
            lease.start()
        self._due = set()
        if self.source is not None:
            await self.source.start_at({tp: lease.position for tp, lease in self.leases.items()})
        self.waiting_since = None

    def _recover(self, tp: TP) -> Recovered:
        where = "/".join(map(str, self._changelog(tp)))
        try:
            found = recover(self.tables[tp.topic].take(tp.partition))
        except MalformedRowError as error:
            raise MalformedRowError(f"{where}: {error}") from error
        if found.foreign:
            told = "%s holds %d records that are not ours, passed over: %r first; see who else may write there"
            logger.error(told, where, len(found.foreign), found.foreign[0][:80])
        return found

    async def _assign(self, tp: TP, recovered: Recovered, found: Found) -> None:
        began = time.monotonic()
        step, at = self.steps[tp.topic], resume(recovered.place, found)
        _report(tp, recovered, at)
        owner = new_owner(time.time_ns() // 1_000_000, secrets.randbelow(1 << 16), recovered.owner)
        around = Surroundings(self.sender, self.observer, self._end_of, self.fail, self.backlog, self.turns)
        lease = Lease(step, tp.partition, self._changelog(tp).topic, Book(owner, recovered), around)
        lease.resume(at, recovered.place.record if recovered.place else "", self._term)
        rows = {name: value_of(raw) for name, raw in recovered.values.items()}
        log = PartitionLog(self.kafka, TopicPartition(*tp))
        fail = lambda error: self.fail(error, str(lease))  # noqa: E731
        try:
            await step.assigned(
                tp.partition, Restored(rows, at.incarnation, at.position, at.lost, log, lease.touch, fail)
            )
        except BaseException as error:
            step.revoked(tp.partition)
            if isinstance(error, UnknownRowError):
                where = f"{'/'.join(map(str, self._changelog(tp)))}: {error}"
                raise MalformedRowError(f"{where}, though of schema {SCHEMA}: run the version that wrote it") from error
            raise
        self.leases[tp] = lease
        self.observer.assigned(step.name, tp.partition, len(rows), at.lost, time.monotonic() - began)

    def _end_of(self, topic: str, partition: int) -> tuple[int | None, bool]:
        return (None, False) if self.source is None else self.source.end_of(topic, partition)


def _report(tp: TP, recovered: Recovered, at: Resume) -> None:
    """What an operator should know of a partition that does not simply go on."""
    before = recovered.place
    if before is None:
        return
    if at.replaced:
        logger.warning(
            "%s/%s: the log was replaced since offset %s; incarnation %s starts at offset %s",
            tp.topic, tp.partition, before.position, at.incarnation, at.position,
        )  # fmt: skip
    if at.lost:
        logger.error(
            "%s/%s: records from offset %s to %s were deleted unread",
            tp.topic,
            tp.partition,
            before.position,
            at.position,
        )
