"""The judge: facts of one Kafka partition become rulings; rulings go to Redis at once and to the topics before the rows that remember them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import msgspec

from rules.facts import Fact, Watermark
from rules.judge import Judge, Outcome
from rules.lockstep import LockStep
from rules.moment import SECOND, Millis
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.decision import to_decision
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.legacy_input import LegacyInputs
from streams.metrics import Metrics
from streams.publish.publisher import Publisher
from streams.topics import Topics

WAITING_ROW = "waiting"
TICK: Millis = SECOND  # how often every scope is ruled on without news


class JudgeStep:
    """Delivery step over `facts`. Rows: the facts as merged, and a book for each scope."""

    name = "judge"
    interval = 0.0

    def __init__(
        self, topics: Topics, partitions: int, policy: Policy, rulebook: Rulebook, publisher: Publisher, metrics: Metrics, *, event_clock: bool
    ) -> None:
        self.topic = topics.facts
        self._outlets = Outlets(topics)
        self._partitions = partitions
        self._policy = policy
        self._rulebook = rulebook
        self._publisher = publisher
        self._metrics = metrics
        self._event_clock = event_clock
        self._zone = policy.calendar().zone
        self._legacy = LegacyInputs(policy)
        self._decode = msgspec.json.Decoder(Fact).decode
        self._benches: dict[int, Bench] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take up the partition's books. Every scope is ruled on anew, so Redis and the topics get the newest again."""
        rows = dict(restored.rows)
        waiting = rows.pop(WAITING_ROW, [])
        judge = Judge(self._policy, self._rulebook, self._partitions)
        judge.restore(rows)
        bench = Bench(judge, self._lockstep() if self._event_clock else None, restored.epoch)
        bench.take_up(msgspec.convert(waiting, list[Fact]))
        self._benches[partition] = bench

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Merge a batch of facts. Only our own code writes them, so an unreadable one is a fault of ours and ends the process."""
        bench = self._benches[partition]
        for record in records:
            if record.value is not None:
                bench.add(self._decode(record.value))

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """Rule on what was touched, publish, and hand over what the topics and the table must keep."""
        bench = self._benches[partition]
        outcomes = bench.rule(moment.now)
        for outcome in outcomes:
            self._publish(bench, outcome)
        rows = bench.judge.take_rows()
        if bench.waits_differently():
            rows[WAITING_ROW] = msgspec.to_builtins(bench.waiting)
        outputs = [output for outcome in outcomes for output in self._outlets.outputs(outcome, bench.decided[outcome.ruling.scope])]
        return Flush(outputs, rows) if outputs or rows else None

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on: stop renewing its keys."""
        bench = self._benches.pop(partition, None)
        for scope in bench.judge.books if bench else ():
            self._publisher.forget(scope)
