"""A recording without Kafka: the same meter and the same judge, driven by the recording's own clock.

Counting comes first, judging follows what it says, and the first needs nothing from the second, so they may run apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from rules.alerts import Alert
from rules.calls import Calls
from rules.counting import Between, Counted, Counting
from rules.facts import Heard, Scope
from rules.hindsight import Seen
from rules.judge import Judge
from rules.moment import Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.records import Calibration, Clock, Control, Reading, Record, Refusal, Rejected
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
        self.now: Millis | None = None  # of the recording
        self.alerts: list[Alert] = []
        self.rejected: list[Rejected] = []
        self.refusals: dict[Scope, Refusal] = {}  # the last call that the recorded gate refused
        self.judge = Judge(policy, rulebook, usage_partitions=1)
        self._policy = policy
        self._rulebook = rulebook
        self._formulas = tuple(formulas)
        self._waiting: list[Reading] = []
        self._watcher = watcher

    def run(self, records: Iterable[Record | Calls]) -> Iterator[Replayed]:
        """Feed records in order of time, with the clock between them; yields a reading once the clock reaches it.

        Calls stand for the events in them, one after another.
        """
        counting = Counting(self._policy)
        yield from self.follow(counting.run(records))
        self.rejected += counting.rejected

    def follow(self, counted: Iterable[Counted | Between]) -> Iterator[Replayed]:
        """The same for usage that has been counted already."""
        for each in counted:
            if isinstance(each, Between):
                self._hear(each.record, each.offset)
            else:
                self._rule(each)
                yield from self._compare(each.mark.at)

    def finish(self) -> None:
        """Let the watcher see how the recording ends."""
        if self._watcher is not None and self.now is not None:
            for book in self.judge.models().values():
                self._watcher.see(book.seen(book.look(self.now, self.judge.marks), self._formulas))

    def _hear(self, record: Record, offset: int) -> None:
        """It takes effect with the next tick."""
        if isinstance(record, Reading | Calibration | Control):
            model = "" if isinstance(record, Control) else self._policy.canonical(record.model)
            scope = addressed(record) if isinstance(record, Control) else f"model:{model}"
            if isinstance(scope, Rejected):
                self.rejected.append(scope)
            else:
                self.judge.apply(Heard(scope, record, f"replay/0/{offset}"))
            self._waiting += [record] if isinstance(record, Reading) else []
        elif isinstance(record, Refusal):
            scope = f"model:{self._policy.canonical(record.model)}"
            self.refusals[scope] = record
            if self._watcher is not None:
                self._watcher.refuse(scope, record)

    def _rule(self, counted: Counted) -> None:
        """The clock reaches an instant: everything before has been heard, and the judge rules."""
        now = self.now = counted.mark.at
        for row in counted.rows:
            self.judge.apply(row)
        self.judge.apply(counted.mark)
        outcomes = self.judge.rule(now, every=True)
        for outcome in tuple(outcomes):
            for fact in outcome.tells:
                self.judge.apply(replace(fact, version=(0, counted.mark.position)))
        outcomes += self.judge.rule(now)
        self.judge.take_rows()
        self.alerts += [alert for outcome in outcomes for alert in outcome.alerts]
        if self._watcher is not None:
            self._show(outcomes, self._watcher)

    def _show(self, outcomes: Iterable[Outcome], watcher: Watcher) -> None:
        models = self.judge.models()
        for outcome in outcomes:
            if outcome.history and outcome.sight is not None:
                watcher.see(models[outcome.ruling.scope].seen(outcome.sight, self._formulas))

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
