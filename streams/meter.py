"""The meter: usage records of one Kafka partition become partials on `facts`. Heavy, and scales with the partitions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from native.counter import Counter
from rules.calls import Calls
from rules.duplicates import WINDOW
from rules.facts import Minutes, Partial, Watermark
from rules.intake.reader import Intake
from rules.meter import MeterClock, PartitionMeter
from rules.moment import Millis
from rules.policy import Policy
from rules.records import Clock, Reason, Refusal, Rejected, Usage
from rules.stored_rows import as_stored
from streams.active import Active
from streams.counting import MakeCounter, in_python
from streams.dead_letters import DeadLetters
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.facts_topic import FactsTopic
from streams.metrics import Metrics
from streams.receipt import Receipt
from streams.stamps import APART, all_sent_at
from streams.tenant_telling import TenantTelling
from streams.topics import Topics
from streams.trails import Departures, Trail, scopes_of
from streams.wall_clock import wall_clock

CLOCK_ROW = "clock"

Ahead = Callable[[Partial | Minutes, Output, Trail], None]
"""Called with a row that goes on changing, the fact that tells of it, and where it came from."""

log = logging.getLogger(__name__)


class Meter:
    """Delivery step over the usage topic. Rows: the partials, minutes and tenant sheets of each source partition, and
    its clock."""

    name = "meter"
    interval = 0.03
    lot = 500  # what of them is in use fits a processor's caches

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
        counter: MakeCounter = in_python,
        ahead: Ahead | None = None,
    ) -> None:
        """`traces`: hand on the trace contexts of usage records. `counter`: makes what counts a partition's
        lots, or None: in Python. `ahead`: judges who are told before Kafka is."""
        self.topic = topics.usage
        self._dead_letters = DeadLetters(topics.dead_letters, topics.usage, metrics)
        self._facts = facts
        self._topics = topics
        self._policy = policy
        self._metrics = metrics
        self._event_clock = event_clock
        self._counter = counter
        self._ahead = ahead
        self._clock = clock
        self._intake = Intake(policy.calendar().zone)
        self._traced = scopes_of(self._intake, self._canonical) if traces else None
        self._partitions: dict[int, Metered] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take up the partition's rows and rebuild its window of duplicates from the log."""
        counter = self._counter()
        window, sheets = (counter.window, counter.sheets) if counter is not None else (None, None)
        meter = PartitionMeter(partition, self._policy, restored.incarnation, window, sheets)
        tenants = TenantTelling(partition, meter.tenants, self._facts, self._topics)
        metered = Metered(meter, Receipt(self._clock), tenants, Departures(self._traced), counter)
        others = tenants.restore(restored.rows)
        clock: MeterClock = as_stored(CLOCK_ROW, restored.rows.get(CLOCK_ROW, {}), MeterClock)
        rows = [as_stored(key, row, Partial | Minutes) for key, row in others.items() if key != CLOCK_ROW]
        metered.meter.restore(rows, clock)
        if restored.lost:
            clock.since = None  # records are gone: complete metering begins anew
        await self._read_back(metered, restored)
        metered.meter.adopt(self._policy)  # another one may have come meanwhile
        self._partitions[partition] = metered

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Fold a batch. A record that cannot be used becomes a dead letter and stops nothing."""
        metered = self._partitions[partition]
        metered.departures.note(records)
        raws = [record.value or b"" for record in records]
        if not self._fold_lot(metered, records, raws):
            calls = self._intake.read_usage(raws)
            if calls is not None:
                self._fold(metered, partition, records, calls)
            else:
                self._take_apart(metered, partition, records, self._intake.read_batch(raws))
        metered.meter.duplicates.trim(records[-1].offset + 1)
        self._count(metered, partition, records[-1].offset)

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """The sums that changed; in a whole flush also the minutes, the rows to keep, and the watermark.

        Only the sums are wanted at once. The watermark says that nothing before it is missing, so it comes with the
        minutes, and also when nothing changed.
        """
        metered = self._partitions[partition]
        metered.receipt.reach(moment)
        if self._event_clock:  # told with the next tick, kept with this position
            metered.rows |= metered.tenants.gather(self._clock())
            for row in metered.meter.pending():
                metered.rows[row.key] = msgspec.Raw(msgspec.json.encode(row))
        elif moment.whole:
            self._emit(metered, moment.position, self._watermark_at(metered.meter, moment))
        else:
            for partial in metered.meter.take_partials():
                self._tell(metered, partial)
            return metered.take()
        metered.rows |= dict.fromkeys(metered.meter.forget())
        if (oldest := metered.meter.oldest_day()) is not None:
            metered.rows |= metered.tenants.drop_before(oldest)
        return metered.take()

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

    async def _read_back(self, metered: Metered, restored: Restored) -> None:
        async for records in restored.log.before(restored.position, WINDOW):
            raws = [record.value or b"" for record in records]
            offsets = [record.offset for record in records]
            lot = None if metered.counter is None else metered.counter.read(raws, offsets)
            if lot is not None:
                lot.note()
                continue
            found = zip(records, self._intake.read_batch(raws), strict=True)
            usage = [(record.offset, call) for record, call in found if type(call) is Usage]
            metered.meter.duplicates.of_calls([call for _, call in usage], [offset for offset, _ in usage])

    def _take_apart(self, metered: Metered, partition: int, records: Sequence[Record], found: Sequence[Any]) -> None:
        """A batch in which not everything is usage: stretch by stretch, in its order."""
        for is_usage, run in groupby(zip(records, found, strict=True), key=lambda pair: type(pair[1]) is Usage):
            of_run, alike = zip(*run, strict=True)
            if is_usage:
                self._fold(metered, partition, of_run, Calls(alike, [usage.at for usage in alike]))
            else:
                for record, other in zip(of_run, alike, strict=True):
                    self._heed(metered, partition, record, other)

    def _fold_lot(self, metered: Metered, records: Sequence[Record], raws: Sequence[bytes]) -> bool:
        """Nearly all batches: plain events of usage, read and summed at once. False: nothing was done."""
        if metered.counter is None:
            return False
        stamps = () if self._event_clock else [record.timestamp for record in records]
        offsets = [record.offset for record in records]
        lot = metered.counter.read(raws, offsets, stamps, self._clock(), APART)
        if lot is None or not metered.meter.fold_lot(lot):
            return False
        if not self._event_clock:  # the last one speaks for all
            metered.meter.compare(lot.newest, metered.receipt.of(records[-1], lot.newest))
        return True

    def _fold(self, metered: Metered, partition: int, records: Sequence[Record], calls: Calls) -> None:
        offsets = [record.offset for record in records]
        times = () if self._event_clock else all_sent_at(records, calls.ats, self._clock())
        for index, rejected in metered.meter.fold_batch(offsets, calls.calls, calls.ats, times):
            metered.outputs.append(self._dead_letters.keep(partition, records[index], rejected))
        if not self._event_clock:  # the last one speaks for all
            metered.meter.compare(calls.ats[-1], metered.receipt.of(records[-1], calls.ats[-1]))

    def _heed(self, metered: Metered, partition: int, record: Record, found: Any) -> None:
        """What else stands on the topic: a recording's clock, refusals of gateways, and what does not belong here."""
        if isinstance(found, Clock):
            if self._event_clock:
                metered.meter.tick(found.at)
                # shipped again, a recording moves no clock back
                self._emit(metered, record.offset + 1, metered.meter.clock.now)
        elif isinstance(found, Refusal):
            self._metrics.refused(self._policy.canonical(found.model))
        elif found is not None:
            rejected = (
                found if isinstance(found, Rejected) else Rejected(Reason.WRONG_TOPIC, "belongs onto another topic")
            )
            metered.outputs.append(self._dead_letters.keep(partition, record, rejected))
            self._metrics.events.labels(outcome="unusable").inc()

    def _count(self, metered: Metered, partition: int, offset: int) -> None:
        """Show what became of the events since the last batch."""
        differing = metered.meter.counts.differing - metered.differing
        for outcome, count in metered.outcomes():
            self._metrics.events.labels(outcome=outcome).inc(count)
        if differing:
            metered.differing += differing
            self._metrics.differing_duplicates.inc(differing)
            told = "%d events up to %s/%d/%d have ids of earlier ones, but other tokens or another model; those count"
            log.warning(told, differing, self.topic, partition, offset)

    def _emit(self, metered: Metered, position: int, at: Millis | None) -> None:
        """Tell the judges: changed rows first, then the watermark that vouches for them."""
        meter = metered.meter
        metered.rows |= metered.tenants.gather(self._clock())
        metered.outputs += metered.tenants.take()
        for row in meter.take_rows():
            metered.rows[row.key] = msgspec.Raw(self._tell(metered, row))
        if at is not None:
            mark = meter.watermark(position, at)
            if mark != metered.mark:
                metered.mark, meter.apart = mark, 0
                metered.rows[CLOCK_ROW] = msgspec.to_builtins(meter.clock)
                metered.outputs.extend(self._facts.to_all(mark))

    def _tell(self, metered: Metered, row: Partial | Minutes) -> bytes:
        """Encodes at once, as the fold goes on in the row."""
        encoded = msgspec.json.encode(row)
        told = self._facts.encoded(row.scope, row.key, encoded)
        metered.outputs.append(told)
        if self._ahead is not None:
            self._ahead(row, told, metered.departures.of(row.scope))
        return encoded

    def _watermark_at(self, meter: PartitionMeter, moment: Moment) -> Millis | None:
        """Read to its end, a partition vouches for all but the policy's lateness; otherwise its records do."""
        if moment.at_end:
            if meter.clock.since is None:
                meter.clock.since = moment.now
            return moment.now - self._policy.lateness
        return None if meter.clock.now is None else min(meter.clock.now, moment.now) - self._policy.lateness


class Metered:
    """A partition's meter with what its next flush will tell."""

    def __init__(
        self,
        meter: PartitionMeter,
        receipt: Receipt,
        tenants: TenantTelling,
        departures: Departures,
        counter: Counter | None = None,
    ) -> None:
        self.meter = meter
        self.counter = counter
        self.receipt = receipt
        self.tenants = tenants
        self.departures = departures
        self.outputs: list[Output] = []
        self.rows: dict[str, Any] = {}
        self.mark: Watermark | None = None
        self._counted = msgspec.structs.replace(meter.counts)
        self.differing = meter.counts.differing

    def outcomes(self) -> list[tuple[str, int]]:
        """What became of events since the last call."""
        before, now = self._counted, msgspec.structs.replace(self.meter.counts)
        self._counted = now
        found = [
            ("counted", now.counted - before.counted),
            ("duplicate", now.duplicates - before.duplicates),
            ("rejected", now.rejected - before.rejected),
        ]
        return [(outcome, count) for outcome, count in found if count]

    def take(self) -> Flush | None:
        """Everything gathered, which then starts empty."""
        if not (self.outputs or self.rows):
            return None
        taken = Flush(self.departures.mark(self.outputs), self.rows)
        self.outputs, self.rows = [], {}
        return taken
