"""A recording without Kafka: the same meter and the same judge, driven by the recording's own clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rules.alerts import Alert
from rules.calls import Call, Calls
from rules.facts import Heard, Scope
from rules.hindsight import Seen
from rules.judge import Judge
from rules.meter import PartitionMeter
from rules.moment import Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.records import Calibration, Clock, Control, Reading, Record, Refusal, Rejected, Usage
from rules.rulebook import Rulebook
from rules.ruling import Ruling
from rules.switch import addressed


class Replayed(Struct, frozen=True):
    """What was ruled at one reading, under each formula."""

    reading: Reading
    rulings: dict[str, Ruling]


class Watcher(Protocol):
    """Sees every ruling that differs in more than what was used, and every call the recorded gate refused."""

    def see(self, seen: Seen) -> None: ...

    def refuse(self, scope: Scope, refusal: Refusal) -> None: ...


class Replay:
    """One pass over a recording. `formulas` are compared; the policy's own is the product's answer."""

    def __init__(
        self, policy: Policy, rulebook: Rulebook, formulas: Iterable[str], watcher: Watcher | None = None
    ) -> None:
        self.alerts: list[Alert] = []
        self.rejected: list[Rejected] = []
        self.refusals: dict[Scope, Refusal] = {}  # the last call that the recorded gate refused
        self.meter = PartitionMeter(0, policy, by_tenant=False)
        self.judge = Judge(policy, rulebook, usage_partitions=1)
        self._policy = policy
        self._rulebook = rulebook
        self._formulas = tuple(formulas)
        self._offset = 0
        self._offsets: list[int] = []
        self._calls: list[Call] = []  # at these offsets, since the last tick
        self._ats: list[Millis] = []
        self._waiting: list[Reading] = []
        self._watcher = watcher

    def run(self, records: Iterable[Record | Calls]) -> Iterator[Replayed]:
        """Feed records in order of time, with the clock between them; yields a reading once the clock reaches it.

        Calls stand for the events in them, one after another.
        """
        for record in records:
            if isinstance(record, Calls):
                self._feed_calls(record)
            elif isinstance(record, Clock):
                self.tick(record.at)
                yield from self._compare(record.at)
            else:
                self.feed(record)

    def _feed_calls(self, calls: Calls) -> None:
        self._calls += calls.calls
        self._ats += calls.ats
        self._offsets += range(self._offset, self._offset + len(calls.ats))
        self._offset += len(calls.ats)

    def feed(self, record: Record) -> None:
        """Take one record; it takes effect with the next tick."""
        if isinstance(record, Usage):
            self._feed_calls(Calls([record], [record.at]))
            return
        if isinstance(record, Reading | Calibration | Control):
            model = "" if isinstance(record, Control) else self._policy.canonical(record.model)
            scope = addressed(record) if isinstance(record, Control) else f"model:{model}"
            if isinstance(scope, Rejected):
                self.rejected.append(scope)
            else:
                self.judge.apply(Heard(scope, record, f"replay/0/{self._offset}"))
            self._waiting += [record] if isinstance(record, Reading) else []
        elif isinstance(record, Refusal):
            scope = f"model:{self._policy.canonical(record.model)}"
            self.refusals[scope] = record
            if self._watcher is not None:
                self._watcher.refuse(scope, record)
        self._offset += 1

    def tick(self, now: Millis) -> list[Outcome]:
        """The clock reaches `now`: everything before has been fed, and the judge rules."""
        self._fold()
        self.meter.tick(now)
        for row in self.meter.take_changes():
            self.judge.apply(row)
        self.judge.apply(self.meter.watermark(self._offset, now))
        self.meter.duplicates.trim(self._offset)
        self.meter.forget()
        outcomes = self.judge.rule(now, every=True)
        for outcome in tuple(outcomes):
            for fact in outcome.tells:
                self.judge.apply(replace(fact, version=(0, self._offset)))
        outcomes += self.judge.rule(now)
        self.judge.take_rows()
        self.alerts += [alert for outcome in outcomes for alert in outcome.alerts]
        if self._watcher is not None:
            models = self.judge.models()
            for outcome in outcomes:
                if outcome.history and outcome.sight is not None:
                    self._watcher.see(models[outcome.ruling.scope].seen(outcome.sight, self._formulas))
        return outcomes

    def finish(self) -> None:
        """Let the watcher see how the recording ends."""
        now = self.meter.clock.now
        if self._watcher is not None and now is not None:
            for book in self.judge.models().values():
                self._watcher.see(book.seen(book.look(now, self.judge.marks), self._formulas))

    def _fold(self) -> None:
        if self._calls:
            refused = self.meter.fold_batch(self._offsets, self._calls, self._ats)
            self.rejected += [rejected for _, rejected in refused]
            self._offsets, self._calls, self._ats = [], [], []

    def _compare(self, now: Millis) -> Iterator[Replayed]:
        due = [reading for reading in self._waiting if reading.at <= now]
        self._waiting = [reading for reading in self._waiting if reading.at > now]
        models = self.judge.models()
        for reading in due:
            book = models[f"model:{self._policy.canonical(reading.model)}"]
            sight = book.look(now, self.judge.marks)
            yield Replayed(reading, {name: book.rule(sight, self._rulebook, name) for name in self._formulas})


def up_to(records: Iterable[Record], at: Millis) -> Iterator[Record]:
    """What had arrived at an instant, and the clock at that instant unless the recording ends before it."""
    for record in records:
        if record.at > at:
            yield Clock(at=at)
            return
        yield record
