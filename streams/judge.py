"""The judge: facts of one Kafka partition become rulings. A ruling goes to Redis at once, and onto the topics before
the rows that remember it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence, Set

from blastdoor_gateway.contract import Decision
from msgspec import Struct

from rules.alerts import Alert
from rules.engine_watch import EngineWatch
from rules.fact_check import read_fact
from rules.facts import GLOBAL, Minutes, Partial, Scope
from rules.judge import Judge
from rules.lockstep import LockStep
from rules.moment import LATEST, Millis
from rules.policy import Policy
from rules.records import Rejected
from rules.rulebook import Rulebook
from rules.ruling import Ruling
from rules.tenant_words import refusal_line
from streams.active import Active
from streams.alert_records import book_to_output, to_output
from streams.bench import Bench, Ruled
from streams.dead_letters import DeadLetters
from streams.decision import to_decision
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.facts_topic import FactsTopic
from streams.legacy_input import legacy_input
from streams.log_lines import told
from streams.metrics import Metrics
from streams.publish.publisher import Publisher
from streams.ruling_metrics import count, hide, show, show_account, show_formulas
from streams.spans import Spans
from streams.topics import Topics, facts_partition
from streams.trails import NO_TRAIL, Arrivals, Trail
from streams.wall_clock import wall_clock

log = logging.getLogger(__name__)


class JudgeStep:
    """Delivery step over `facts`. Rows: the facts as merged, a book for each scope, and the epoch of its versions."""

    name = "judge"
    interval = 0.03
    lot = 100  # tallies of many tenants take 0.1 ms each

    def __init__(
        self,
        topics: Topics,
        partitions: int,
        policy: Policy,
        rulebook: Rulebook,
        publisher: Publisher,
        metrics: Metrics,
        *,
        event_clock: bool,
        clock: Callable[[], Millis] = wall_clock,
        spans: Spans | None = None,
    ) -> None:
        self.topic = topics.facts
        self._topics = topics
        self._facts = FactsTopic(topics.facts, partitions)
        self._partitions = partitions
        self._policy = policy
        self._rulebook = rulebook
        self._publisher = publisher
        self._metrics = metrics
        self._event_clock = event_clock
        self._clock = clock
        self._spans = spans
        self._zone = policy.calendar().zone
        self._dead_letters = DeadLetters(topics.dead_letters, topics.facts, metrics)
        self._refused: dict[int, list[Output]] = {}  # dead letters for the next flush
        self._benches: dict[int, Bench] = {}
        self._actions: dict[str, str] = {}  # last logged
        self._trials: dict[str, frozenset[str]] = {}  # rules under trial that fire, as last told
        self._failures: dict[str, frozenset[str]] = {}
        self._touch: dict[int, Callable[[], None]] = {}
        self._unshown: dict[str, Ruling] = {}
        self._arrivals: dict[int, Arrivals] = {}
        self._read_up: set[int] = set()  # partitions that were once read to their end
        self._heard: dict[int, dict[bytes | None, bytes | None]] = {}  # before they came, by key
        metrics.expect_rules(rulebook)

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take up the partition's books. Every scope is ruled on anew, so Redis and the topics get the newest again."""
        judge = Judge(self._policy, self._rulebook, self._partitions)
        lockstep = LockStep({"usage": self._partitions, "balances": self._partitions, "controls": self._partitions})
        engine = None
        if partition == facts_partition(GLOBAL, self._partitions):
            engine = EngineWatch(self._policy.alerts, self._policy.calendar(), self._clock())
        self._attend(partition, judge)
        bench = Bench(judge, lockstep if self._event_clock else None, self._clock(), engine, partition)
        bench.restore(restored.rows)
        self._benches[partition] = bench
        self._touch[partition] = restored.touch
        self._arrivals[partition] = Arrivals()
        self._heard[partition] = {}
        self._read_up.discard(partition)

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Merge a batch of facts. What cannot be one of ours becomes a dead letter and stops nothing."""
        bench, now = self._benches[partition], LATEST if self._event_clock else self._clock()
        arrivals = self._arrivals[partition]
        heard = self._heard[partition]
        for record in records:
            if record.value is None:  # our own: what is known here stands in the rows
                continue
            if heard.get(record.key) == record.value:
                del heard[record.key]
                continue
            found = read_fact(record.value, self._partitions, now)
            if isinstance(found, Rejected):
                self._refuse(partition, record, found)
            elif bench.add(found):
                arrivals.note(record)

    def hear(self, row: Partial | Minutes, told: Output, trail: Trail) -> None:
        """Take a row of a meter in this worker before it comes by Kafka, if its judge is here as well.

        It is as true as it will be then: the log it was summed from is safe, whoever sums it again finds the same, and
        sums only grow. What comes later is old news. Sums and the minutes they stand for are heard one after another as
        they would come; a judge who has yet to read what was told before hears nothing.
        """
        partition = told.partition
        if partition is None or partition not in self._read_up or self._event_clock:  # a recording has its own order
            return
        if self._benches[partition].add(row.snapshot()):
            self._heard[partition][told.key] = told.value
            self._arrivals[partition].expect(row.scope, trail)
            self._touch[partition]()

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """Rule on what was touched, publish, and hand over what the topics and the table must keep."""
        bench, arrivals = self._benches[partition], self._arrivals[partition]
        if moment.at_end:
            self._read_up.add(partition)
        outputs = [output for ruled in bench.rule(moment.now) for output in self._tell(bench.judge, ruled, arrivals)]
        if bench.judge.is_waiting:
            self._touch[partition]()
        elif not self._event_clock:  # a recording is ruled on at its ticks
            arrivals.clear()
        outputs += [self._close(scope) for scope in bench.judge.take_closed()]
        outputs += [self._facts.to_scope(fact.scope, fact) for fact in bench.take_tells(moment.now)]
        outputs += [Output(self.topic, partition, key.encode(), None) for key in bench.judge.take_gone()]
        outputs += [self._alert(alert) for alert in bench.take_reports()]
        outputs += self._refused.pop(partition, ())
        # What was told is kept with it: told again, an alert might not be the same.
        rows = bench.take_rows() if outputs or moment.whole else {}
        return Flush(outputs, rows) if outputs or rows else None

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on: its keys are no longer renewed from here."""
        bench = self._benches.pop(partition, None)
        self._touch.pop(partition, None)
        self._arrivals.pop(partition, None)
        self._heard.pop(partition, None)
        self._read_up.discard(partition)
        self._refused.pop(partition, None)
        for scope in bench.judge.books if bench else ():
            self._forget(scope)

    def adopt(self, active: Active) -> None:
        """Rule on every scope anew under this policy, with all that is known of it."""
        self._policy, self._rulebook = active.policy, active.rulebook
        self._metrics.expect_rules(active.rulebook)
        for partition, bench in self._benches.items():
            bench.adopt(active.policy, active.rulebook)
            self._attend(partition, bench.judge)
            self._touch[partition]()

    def outbid(self, scope: str, held: tuple[int, int]) -> None:
        """Redis holds a higher version of a scope that is ours: go above it and publish again."""
        for partition, bench in self._benches.items():
            if scope in bench.judge.books:
                bench.raise_epoch(held[0])
                for ruled in bench.again():
                    self._publish(ruled)
                self._touch[partition]()

    def complete_until(self) -> Millis | None:
        """All usage that ended before has been metered. None: no partition is ours, or not every source has vouched."""
        marks = (bench.judge.marks.complete_until() for bench in self._benches.values())
        return max((mark for mark in marks if mark is not None), default=None)

    def report(self, scope: str, alert: Callable[[Ruling], Alert]) -> None:
        """Somebody beside the stream noticed something about a scope: raise an alert, if the scope is ours."""
        for partition, bench in self._benches.items():
            if bench.report(scope, alert):
                self._touch[partition]()

    def show(self) -> None:
        """Bring the gauges up to date: done for who asks, as those of a model cost more than a ruling."""
        for ruling in self._unshown.values():
            show(self._metrics, ruling)
        self._unshown.clear()

    def _attend(self, partition: int, judge: Judge) -> None:
        """Where the day's money has a limit gates are told of it before the first token costs anything."""
        if self._policy.spend is not None and partition == facts_partition(GLOBAL, self._partitions):
            judge.attend(GLOBAL)

    def _close(self, scope: Scope) -> Output:
        """Its keys in Redis end by themselves; the topic of the latest decisions forgets it."""
        self._forget(scope)
        return Output(self._topics.decisions_latest, None, scope.encode(), None)

    def _forget(self, scope: Scope) -> None:
        self._publisher.forget(scope)
        hide(self._metrics, scope)
        self._unshown.pop(scope, None)
        self._actions.pop(scope, None)
        self._trials.pop(scope, None)
        self._failures.pop(scope, None)

    def _refuse(self, partition: int, record: Record, rejected: Rejected) -> None:
        log.error("%s/%d/%d was not written by us: %s", self.topic, partition, record.offset, rejected.detail)
        self._refused.setdefault(partition, []).append(self._dead_letters.keep(partition, record, rejected))

    def _tell(self, judge: Judge, ruled: Ruled, arrivals: Arrivals) -> list[Output]:
        """Redis hears every ruling; the topics those that are more than a step of `used`, and every alert."""
        trail = arrivals.take(ruled.outcome.ruling.scope)
        if self._spans is not None and ruled.outcome.history:
            trail = self._spans.decided(trail, ruled.outcome.ruling)
        decision = self._publish(ruled, judge.grounds(ruled.outcome) if ruled.outcome.history else None, trail)
        outputs = []
        if ruled.outcome.history:
            scope, raw = decision.scope.encode(), decision.to_json()
            outputs = [
                Output(self._topics.decisions, None, scope, raw, trail.headers),
                Output(self._topics.decisions_latest, None, scope, raw, trail.headers),
            ]
        if (closed := ruled.outcome.closed) is not None:
            outputs.append(book_to_output(self._topics.alerts, closed))
        return outputs + [self._alert(alert) for alert in ruled.outcome.alerts]

    def _alert(self, alert: Alert) -> Output:
        self._metrics.alerts_raised.labels(kind=alert.kind.value).inc()
        return to_output(self._topics.alerts, alert)

    def _publish(self, ruled: Ruled, grounds: Struct | None = None, trail: Trail = NO_TRAIL) -> Decision:
        ruling = ruled.outcome.ruling
        decision = to_decision(ruling, ruled.version, self._zone, ruled.outcome.account, grounds)
        self._publisher.offer(decision, legacy_input(ruling, self._policy), trail.sent)
        count(self._metrics, ruling, history=ruled.outcome.history)
        self._unshown[ruling.scope] = ruling
        if ruled.outcome.account is not None:
            show_account(self._metrics, ruling.scope, ruled.outcome.account)
        if ruled.outcome.history:
            show_formulas(self._metrics, ruled.outcome, self._policy)
        self._log(ruling)
        return decision

    def _log(self, ruling: Ruling) -> None:
        """One line for each change of what a gateway is told to do, with the reason; and for each rule that begins to
        fail, or to fire under trial."""
        self._note_trials(ruling)
        self._note_failures(ruling)
        if self._actions.get(ruling.scope) == ruling.action:
            return
        before, self._actions[ruling.scope] = self._actions.get(ruling.scope), ruling.action
        if (refused := refusal_line(ruling)) is not None:
            log.warning("%s", refused)
        log.info(
            "%s is now %s: %s (rule %s)", ruling.scope, ruling.action, ruling.reason, ruling.rule,
            extra=told(
                event="decision", scope=ruling.scope, action=ruling.action, before=before, rule=ruling.rule,
                reason=ruling.reason, used=ruling.used, limit=ruling.limit, policy=ruling.policy,
            ),
        )  # fmt: skip

    def _note_trials(self, ruling: Ruling) -> None:
        fresh = self._fresh(self._trials, ruling.scope, {would.rule for would in ruling.would})
        for would in ruling.would:
            if would.rule in fresh:
                log.info("%s would be %s: %s (rule %s, dry run)", ruling.scope, would.action, would.reason, would.rule)
                self._metrics.rule_trials.labels(rule=would.rule, action=would.action).inc()

    def _note_failures(self, ruling: Ruling) -> None:
        causes = dict(failure.split(": ", 1) for failure in ruling.failed)
        for rule in sorted(self._fresh(self._failures, ruling.scope, causes.keys())):
            log.error("rule %s fails about %s: %s", rule, ruling.scope, causes[rule])

    @staticmethod
    def _fresh(told: dict[str, frozenset[str]], scope: str, names: Set[str]) -> frozenset[str]:
        """The names that were not told at the last ruling on the scope."""
        if not names and scope not in told:
            return frozenset()
        fresh = frozenset(names) - told.pop(scope, frozenset())
        if names:
            told[scope] = frozenset(names)
        return fresh
