"""The first half of a replay: usage is counted as the meter counts it, in stretches between which the clock moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from rules.calls import Call, Calls
from rules.facts import Minutes, Partial, Watermark
from rules.meter import MeterCounts, PartitionMeter
from rules.moment import Millis
from rules.policy import Policy
from rules.records import Clock, Record, Rejected, Usage

LOT = 500
"""Calls folded at once. What of them is in use fits a processor's caches."""


class Counted(Struct, frozen=True):
    """The clock has reached `mark.at`: all rows that usage has changed since it last did."""

    rows: Sequence[Partial | Minutes]
    mark: Watermark


class Between(Struct, frozen=True):
    """A record that is no usage, and its number in the recording."""

    record: Record
    offset: int


class Counting:
    """One pass over a recording."""

    def __init__(self, policy: Policy) -> None:
        self.rejected: list[Rejected] = []
        self._meter = PartitionMeter(0, policy, by_tenant=False)
        self._offset = 0
        self._offsets: list[int] = []
        self._calls: list[Call] = []  # at these offsets, not yet folded
        self._ats: list[Millis] = []

    @property
    def counts(self) -> MeterCounts:
        """What became of the events."""
        return self._meter.counts

    def run(self, records: Iterable[Record | Calls]) -> Iterator[Counted | Between]:
        """Records in order of time, with the clock between them. Calls stand for the events in them."""
        for record in records:
            if isinstance(record, Calls):
                self._take(record)
            elif isinstance(record, Usage):
                self._take(Calls([record], [record.at]))
            elif isinstance(record, Clock):
                yield self._tick(record.at)
            else:
                yield Between(record, self._offset)
                self._offset += 1

    def _take(self, calls: Calls) -> None:
        self._calls += calls.calls
        self._ats += calls.ats
        self._offsets += range(self._offset, self._offset + len(calls.ats))
        self._offset += len(calls.ats)
        if len(self._calls) >= LOT:
            self._fold()

    def _fold(self) -> None:
        if self._calls:
            refused = self._meter.fold_batch(self._offsets, self._calls, self._ats)
            self.rejected += [rejected for _, rejected in refused]
            self._offsets, self._calls, self._ats = [], [], []
            self._meter.duplicates.trim(self._offset)

    def _tick(self, now: Millis) -> Counted:
        self._fold()
        self._meter.tick(now)
        counted = Counted(self._meter.take_changes(), self._meter.watermark(self._offset, now))
        self._meter.forget()
        return counted
