"""Faust's Kafka transport with another delivery: whole partition batches go straight to the steps.

Faust keeps the group, the assignment, the recovery of tables and the rhythm of commits. This module leans on names
that Faust and aiokafka do not promise; tests/streams/delivery/test_private_names.py fails when one of them changes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

import aiokafka
from aiokafka import TopicPartition
from aiokafka.errors import ConsumerStoppedError, IllegalStateError
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.transports import ConsumerT

from streams.delivery.delivery import Delivery
from streams.delivery.errors import DeliveryError, LogChangedError
from streams.delivery.lease import Lease, Term
from streams.delivery.log import ends
from streams.delivery.records import Packed, leave_packed, lots
from streams.delivery.turns import Breath

# A broker answers a fetch as soon as there is one record: without a pause a busy topic is fetched a thousand times a
# second. A record that comes alone finds nobody pausing.
GATHER_SECONDS = 0.010
FRESH_MS = 2000  # what the broker said about the end of a log is believed for so long


class Fetched(dict[TP, list[Packed]]):
    """Batches with what held in the fetching thread when they were taken.

    `seeks` numbers the last seek before: what was taken before the latest one is taken again after it, and what was
    taken after it never is. Faust may ask for records before a rebalance and get them after it.
    """

    generation = -1
    seeks = -1
    positions: Mapping[TP, int | None] = {}


class BatchThread(driver.AIOKafkaConsumerThread):
    """The thread that fetches."""

    logger = logging.getLogger("faust.delivery")
    seeks = 0

    @property
    def delivery(self) -> Delivery:
        delivery: Delivery = cast("Any", self.app).delivery
        return delivery

    def _create_worker_consumer(self, transport: Any) -> aiokafka.AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = cast(Any, self.app).fetch_max_wait_ms  # Faust has 1500 in its code and no setting
        return consumer

    async def _highwaters(self, partitions: Iterable[TP]) -> Mapping[TP, int]:
        found = await ends(self.delivery.kafka, [TopicPartition(*tp) for tp in partitions])
        return {TP(*tp): end for tp, end in found.items()}

    async def _fetch_records(self, consumer: aiokafka.AIOKafkaConsumer, *arguments: Any, **options: Any) -> Fetched:
        leave_packed(consumer)
        fetched = Fetched(await super()._fetch_records(consumer, *arguments, **options))
        fetched.generation, fetched.seeks = self.app.consumer_generation_id, self.seeks
        fetched.positions = {tp: state._position for tp, state in self._states().items()}
        return fetched

    async def _seek_wait(self, consumer: aiokafka.AIOKafkaConsumer, partitions: Mapping[TP, int]) -> None:
        self.seeks = cast(BatchConsumer, self.consumer).seeks
        await super()._seek_wait(consumer, partitions)

    async def start_at(self, positions: Mapping[TP, int]) -> None:
        """Fetch these partitions from these positions on, and no others until the next assignment."""
        consumer = self._ensure_consumer()
        consumer.pause(*(tp for tp in consumer.assignment() if tp not in positions))
        for tp, position in positions.items():
            consumer.seek(TopicPartition(*tp), position)
        self.seeks = cast(BatchConsumer, self.consumer).seeks

    @property
    def member(self) -> str:
        """Our name in the group, as the broker has given it."""
        return str(self._ensure_consumer()._coordinator.member_id)

    def end_of(self, tp: TP) -> tuple[int | None, bool]:
        state = self._states().get(tp)
        if state is None or state.highwater is None:
            return None, False
        return state.highwater, time.time_ns() // 1_000_000 - state.timestamp <= FRESH_MS

    def _states(self) -> Mapping[TP, Any]:
        """What aiokafka knows of each assigned partition."""
        subscription = self._ensure_consumer()._subscription.subscription
        return {} if subscription is None or subscription.assignment is None else subscription.assignment._tp_state


class BatchConsumer(driver.Consumer):
    """The main loop's side. Implements `delivery.Source`."""

    logger = logging.getLogger("faust.delivery")
    _thread: BatchThread

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.seeks = 0  # asked for; the thread has its own number, of those done
        self._between = True  # two assignments: whatever Faust has still under way belongs to the former
        self._joining = False
        self._restoring = False
        self._breath = Breath()
        self.delivery: Delivery = cast(Any, self.app).delivery
        self.delivery.source = self

    def _new_consumer_thread(self) -> BatchThread:
        return BatchThread(self, loop=self.loop, beacon=self.beacon)

    def end_of(self, topic: str, partition: int) -> tuple[int | None, bool]:
        return self._thread.end_of(TP(topic, partition))

    async def start_at(self, positions: Mapping[TP, int]) -> None:
        self.seeks += 1
        await self._thread.call_thread(self._thread.start_at, positions)

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        """Faust seeks in the changelogs to be restored."""
        self.seeks += 1
        await super().seek_wait(partitions)

    @property
    def _recovery(self) -> Recovery:
        return cast(TableManager, self.app.tables).recovery

    # Rebalances

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Flush and commit before Faust forgets what may be committed."""
        self._between, self._restoring = True, False
        self.stop_flow()
        try:
            await self.delivery.put_down()
            await self.commit()
        except Exception as error:  # noqa: BLE001 - aiokafka would log it and go on
            self.delivery.fail(error, "putting partitions down")
        self._joining = True
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        try:
            term = Term(self._thread.member, generation_id)
            self.delivery.expect(assigned, term, self._recovery.active_offsets)
        except Exception as error:  # noqa: BLE001 - aiokafka would log it and go on
            self.delivery.fail(error)
            return
        await super().on_partitions_assigned(assigned, generation_id)
        self._between = self._joining = False

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Faust opens the changelogs when it knows where they begin and end, and has sought: now rows count."""
        tps = set(tps)
        if tps & self._recovery.active_tps:
            self._restoring = True
            self._recovery.signal_recovery_end.clear()  # still set from the recovery before
        super().resume_partitions(tps)

    async def perform_seek(self) -> None:
        """Faust calls this with all tables restored, to seek to what was committed. Our positions are in the tables."""
        recovery = self._recovery
        try:
            stale = self._between or recovery.signal_recovery_start.is_set()
            if not stale and recovery.need_recovery():
                raise DeliveryError(f"tables are said to be restored, but are not: {recovery.active_remaining()}")
            self._restoring = False
            done = not stale and await self.delivery.take_up()
        except IllegalStateError:  # the assignment has changed: Faust knows that this means another rebalance
            raise
        except Exception as error:  # noqa: BLE001 - see `fail`
            self.delivery.fail(error, "taking partitions over")
            done = False
        if not done:
            await asyncio.Event().wait()  # the next recovery cancels this one; to return would resume the flow

    # Commits

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Any:  # noqa: ARG002 - Faust's signature
        return iter(self.delivery.committable())

    def _filter_committable_offsets(self, tps: Iterable[TP]) -> dict[TP, int]:
        """Nothing while we join: a commit would wait behind the request to join, be of the generation before, and make
        aiokafka join anew, for ever where others take longer to notice than it is to the next commit."""
        if self._joining:
            return {}
        safe = self.delivery.committable()
        return {tp: safe[tp] for tp in tps if tp in safe and safe[tp] != self._committed_offset[tp]}

    # Records

    async def _drain_messages(self, fetcher: Any) -> None:
        try:
            while not (self.should_stop or fetcher.should_stop or self.delivery.failure):
                records, _ = await self._wait_next_records(1.0)
                began = time.monotonic()
                if isinstance(records, Fetched):
                    await self._deliver(records)
                await asyncio.sleep(max(0.0, began + GATHER_SECONDS - time.monotonic()))
        except (asyncio.CancelledError, ConsumerStoppedError):
            if not (self.app.should_stop or self.delivery.failure):
                raise
        except Exception as error:  # noqa: BLE001 - see `fail`
            self.delivery.fail(error, "delivering")

    def _is_stale(self, fetched: Fetched) -> bool:
        return not self.flow_active or fetched.generation != self.app.consumer_generation_id

    async def _deliver(self, fetched: Fetched) -> None:
        if fetched.seeks != self.seeks:
            return
        changelogs = self.app.tables.changelog_topics  # Faust makes them a set each time
        for tp, batches in fetched.items():
            lease = self.delivery.leases.get(tp)
            if tp.topic in changelogs:
                # In any case: nobody will seek back for them.
                self.delivery.restore(tp, (record for batch in batches for record in batch.records()))
            elif lease is not None and lease.started:
                await self._handle(lease, batches, fetched)
        if fetched.seeks == self.seeks:
            self._note_positions(fetched)

    async def _handle(self, lease: Lease, batches: list[Packed], fetched: Fetched) -> None:
        explained = self._is_stale(fetched)
        for records in lots(batches, lease.step.lot):
            if not explained and records[0].offset != lease.position:
                await self._explain_gap(lease, records[0].offset)
            explained = True
            await lease.room()
            if self._is_stale(fetched):
                return
            try:
                lease.handle(records)
            except Exception as error:  # noqa: BLE001 - see `fail`
                self.delivery.fail(error, f"handling {lease}")
                return
            await self._breath()

    async def _explain_gap(self, lease: Lease, offset: int) -> None:
        """Offsets may be missing where a topic is compacted. Raises if it is anything else."""
        tp = TP(lease.step.topic, lease.partition)
        if offset < lease.position:
            msg = f"the log of {tp.topic}/{tp.partition} was replaced: offset {offset} came after {lease.position - 1}"
            raise LogChangedError(msg)
        begin = (await self.earliest_offsets(TopicPartition(*tp)))[tp]
        if begin > lease.position:
            msg = f"{tp.topic}/{tp.partition}: records from offset {lease.position} to {begin} were deleted unread"
            raise LogChangedError(msg)

    def _note_positions(self, fetched: Fetched) -> None:
        """Positions say more than the last record's offset: behind it there may be offsets without a record."""
        if not self._is_stale(fetched):
            for tp, lease in self.delivery.leases.items():
                if lease.started and (position := fetched.positions.get(tp)) is not None:
                    lease.advance(position)
        recovery = self._recovery
        if self._restoring:
            for tp in recovery.active_tps:
                if (position := fetched.positions.get(tp)) is not None:
                    before = recovery.active_offsets[tp]
                    recovery.active_offsets[tp] = position - 1 if before is None else max(before, position - 1)
            if not recovery.need_recovery():
                recovery.signal_recovery_end.set()

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: Faust's detector counts messages through its own path. See `watch`."""


class BatchTransport(driver.Transport):
    """What the app is given."""

    Consumer: ClassVar[type[ConsumerT]] = BatchConsumer
