"""The meter: usage records of one Kafka partition become partials on `facts`. Heavy, and scales with the partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rules.duplicates import WINDOW, DuplicateWindow
from rules.facts import Minutes, Partial, Watermark
from rules.intake.reader import Intake
from rules.meter import MeterClock, PartitionMeter
from rules.moment import Millis
from rules.policy import Policy
from rules.records import Clock, Reason, Refusal, Rejected, Usage
from streams.active import Active
from streams.dead_letters import DeadLetters
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.facts_topic import FactsTopic
from streams.metrics import Metrics
from streams.receipt import Receipt
from streams.stamps import sent_at
from streams.topics import Topics
from streams.trails import Departures, scopes_of
from streams.wall_clock import wall_clock

CLOCK_ROW = "clock"


class Meter:
    """Delivery step over the usage topic. Rows: the partials and minutes of each source partition, and its clock."""

    name = "meter"
    interval = 0.03

    def __init__(
        self,
        topics: Topics,
        facts: FactsTopic,
        policy: Policy,
        metrics: Metrics,
        *,
        event_clock: bool,
        clock: Callable[[], Millis] = wall_clock,
        traces: bool = False,
    ) -> None:
        """`traces`: hand on the trace contexts of usage records."""
        self.topic = topics.usage
        self._dead_letters = DeadLetters(topics.dead_letters, topics.usage, metrics)
        self._facts = facts
        self._policy = policy
        self._metrics = metrics
        self._event_clock = event_clock
        self._clock = clock
        self._intake = Intake(policy.calendar().zone)
        self._traced = scopes_of(self._intake, self._canonical) if traces else None
        self._partitions: dict[int, Metered] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take up the partition's rows and rebuild its window of duplicates from the log."""
        meter = PartitionMeter(partition, self._policy, restored.incarnation)
        metered = Metered(meter, Receipt(self._clock), Departures(self._traced))
        clock = msgspec.convert(restored.rows.get(CLOCK_ROW, {}), MeterClock)
        rows = [msgspec.convert(row, Partial | Minutes) for key, row in restored.rows.items() if key != CLOCK_ROW]
        metered.meter.restore(rows, clock)
        if restored.lost:
            clock.since = None  # records are gone: complete metering begins anew
        await self._read_back(metered.meter.duplicates, restored)
        metered.meter.adopt(self._policy)  # another one may have come meanwhile
        self._partitions[partition] = metered

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Fold a batch. A record that cannot be used becomes a dead letter and stops nothing."""
        metered = self._partitions[partition]
        metered.departures.note(records)
        read, now = self._intake.read, self._clock()
        found: Any = None
        for record in records:
            found = read(record.value or b"")
            self._take(metered, partition, record, found, now)
        if type(found) is Usage and not self._event_clock:  # the last of a batch speaks for it
            metered.meter.compare(found.at, metered.receipt.of(records[-1], found.at))
        metered.meter.duplicates.trim(records[-1].offset + 1)
        self._count(metered)

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """What changed since the last flush, and the watermark, which also says that nothing changed."""
        metered = self._partitions[partition]
        metered.receipt.reach(moment)
        if not self._event_clock:
            self._emit(metered, moment.position, self._watermark_at(metered.meter, moment))
        else:  # told with the next tick, kept with this position
            metered.rows.update((row.key, msgspec.to_builtins(row)) for row in metered.meter.pending())
        gone = metered.meter.forget()
        if not (metered.outputs or metered.rows or gone):
            return None
        outputs, rows = metered.take()
        return Flush(outputs, rows | dict.fromkeys(gone))

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on."""
        self._partitions.pop(partition, None)

    def adopt(self, active: Active) -> None:
        """Events from the next batch on are counted under this policy."""
        self._policy = active.policy
        for metered in self._partitions.values():
            metered.meter.adopt(active.policy)

    def _canonical(self, name: str) -> str:
        """By the policy in force now."""
        return self._policy.canonical(name)

    async def _read_back(self, window: DuplicateWindow, restored: Restored) -> None:
        async for records in restored.log.before(restored.position, WINDOW):
            for record in records:
                found = self._intake.read(record.value or b"")
                if type(found) is Usage:
                    window.seen(found.id, record.offset)

    def _take(self, metered: Metered, partition: int, record: Record, found: Any, now: Millis) -> None:
        meter = metered.meter
        if type(found) is Usage:
            if not self._event_clock:
                meter.tick(sent_at(record.timestamp, found.at, now))
            found = meter.fold(record.offset, found)
            if found is None:
                return
        if isinstance(found, Clock):
            if self._event_clock:
                meter.tick(found.at)
                # The meter's clock, not the record's: shipped again, a recording moves no clock back.
                self._emit(metered, record.offset + 1, meter.clock.now)
        elif isinstance(found, Refusal):
            self._metrics.refused(self._policy.canonical(found.model))
        elif found is not None:
            rejected = (
                found if isinstance(found, Rejected) else Rejected(Reason.WRONG_TOPIC, "belongs onto another topic")
            )
            metered.outputs.append(self._dead_letters.keep(partition, record, rejected))

    def _count(self, metered: Metered) -> None:
        """Show what became of the events since the last batch."""
        for outcome, count in metered.outcomes():
            self._metrics.events.labels(outcome=outcome).inc(count)

    def _emit(self, metered: Metered, position: int, at: Millis | None) -> None:
        """Tell the judges: changed rows first, then the watermark that vouches for them."""
        meter = metered.meter
        for row in meter.take_changes():
            metered.rows[row.key] = msgspec.to_builtins(row)
            metered.outputs.append(self._facts.to_scope(row.scope, row))
        if at is not None:
            mark = meter.watermark(position, at)
            if mark != metered.mark:
                metered.mark, meter.apart = mark, 0
                metered.rows[CLOCK_ROW] = msgspec.to_builtins(meter.clock)
                metered.outputs.extend(self._facts.to_all(mark))

    def _watermark_at(self, meter: PartitionMeter, moment: Moment) -> Millis | None:
        """Read to its end, a partition vouches for all but the policy's lateness; otherwise its records do."""
        if moment.at_end:
            if meter.clock.since is None:
                meter.clock.since = moment.now
            return moment.now - self._policy.lateness
        return None if meter.clock.now is None else min(meter.clock.now, moment.now) - self._policy.lateness


class Metered:
    """A partition's meter with what its next flush will tell."""

    def __init__(self, meter: PartitionMeter, receipt: Receipt, departures: Departures) -> None:
        self.meter = meter
        self.receipt = receipt
        self.departures = departures
        self.outputs: list[Output] = []
        self.rows: dict[str, Any] = {}
        self.mark: Watermark | None = None
        self._counted = msgspec.structs.replace(meter.counts)

    def outcomes(self) -> list[tuple[str, int]]:
        """What became of events since the last call."""
        before, now = self._counted, msgspec.structs.replace(self.meter.counts)
        self._counted = now
        return [
            ("counted", now.counted - before.counted),
            ("duplicate", now.duplicates - before.duplicates),
            ("rejected", now.rejected - before.rejected),
        ]

    def take(self) -> tuple[list[Output], dict[str, Any]]:
        """Everything gathered, which then starts empty."""
        taken = self.departures.mark(self.outputs), self.rows
        self.outputs, self.rows = [], {}
        return taken
