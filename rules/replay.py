"""A recording without Kafka: the same meter and the same judge, driven by the records' own times.

The clock ticks as `ship --clock event` ticks it: when a new recorded minute begins, after each reading, and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from rules.alerts import Alert
from rules.book import ModelBook, Sight
from rules.facts import Heard
from rules.judge import Judge, Outcome
from rules.meter import PartitionMeter
from rules.moment import MINUTE, Millis
from rules.policy import Policy
from rules.records import Calibration, Control, Reading, Record, Rejected, Usage
from rules.rulebook import Rulebook
from rules.ruling import Ruling


class Replayed(Struct, frozen=True):
    """What was ruled at one reading, under each formula."""

    reading: Reading
    rulings: dict[str, Ruling]


class Replay:
    """One pass over a recording. `formulas` are compared; what the policy's own formula ruled is the product's answer."""

    def __init__(self, policy: Policy, rulebook: Rulebook, formulas: Iterable[str]) -> None:
        self.alerts: list[Alert] = []
        self.rejected: list[Rejected] = []
        self.meter = PartitionMeter(0, policy)
        self.judge = Judge(policy, rulebook, usage_partitions=1)
        self._policy = policy
        self._rulebook = rulebook
        self._formulas = tuple(formulas)
        self._offset = 0
        self._minute: int | None = None
        self._last: Millis | None = None

    def run(self, records: Iterable[Record]) -> Iterator[Replayed]:
        """Feed records in order of time; yields at each reading."""
        for record in records:
            yield from self.feed(record)
        if self._last is not None:
            self.tick(self._last)

    def feed(self, record: Record) -> Iterator[Replayed]:
        """One record; the last tick of a recording is the caller's (`run` does it)."""
        self._begin_minute(record.at)
        if isinstance(record, Usage):
            refused = self.meter.fold(self._offset, record)
            self.rejected += [refused] if refused else []
        elif isinstance(record, Reading | Calibration | Control):
            self._hear(record)
        if isinstance(record, Reading):
            self.tick(record.at)
            yield self._compare(record)
        self._offset += 1
        self._last = record.at if self._last is None else max(self._last, record.at)

    def tick(self, now: Millis) -> list[Outcome]:
        """The clock reaches `now`: everything before has been seen, and the judge rules."""
        self.meter.tick(now)
        for row in self.meter.take_changes():
            self.judge.apply(row)
        self.judge.apply(self.meter.watermark(self._offset + 1, now))
        self.meter.duplicates.trim(self._offset + 1)
        self.meter.forget()
        outcomes = self.judge.rule(now, every=True)
        self.judge.take_rows()
        self.alerts += [alert for outcome in outcomes for alert in outcome.alerts]
        return outcomes

    def _begin_minute(self, at: Millis) -> None:
        minute = at // MINUTE
        if self._minute is None or minute > self._minute:
            self._minute = minute
            self.tick(minute * MINUTE)

    def _hear(self, record: Reading | Calibration | Control) -> None:
        scope = record.scope if isinstance(record, Control) else f"model:{self._policy.canonical(record.model)}"
        self.judge.apply(Heard(scope, record, f"replay/0/{self._offset}"))

    def _compare(self, reading: Reading) -> Replayed:
        book: ModelBook = self.judge.books[f"model:{self._policy.canonical(reading.model)}"]
        sight: Sight = book.look(reading.at, self.judge.marks)
        return Replayed(reading, {name: book.rule(sight, self._rulebook, name) for name in self._formulas})
