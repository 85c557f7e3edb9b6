"""One partition's judge at work: when it rules, under which version, and what waits for its tick in event time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rules.alerts import Alert
from rules.engine_watch import EngineRow, EngineWatch
from rules.facts import Charge, Fact, Scope, Timed, Watermark
from rules.judge import Judge
from rules.lockstep import LockStep
from rules.moment import SECOND, Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.rulebook import Rulebook
from rules.ruling import Ruling
from rules.stored_rows import as_stored, reading

WAITING = "waiting|"
FORMER_WAITING_ROW = "waiting"  # all of them in one, by earlier versions
EPOCH_ROW = "epoch"
ENGINE_ROW = "engine"
REPORTS_KEPT = 1_000
PACE: Millis = 190  # between rulings on usage of a scope that has far to go to its limit
PAUSE: Millis = SECOND // 5  # between two tellings of other scopes
TICK: Millis = SECOND  # how often scopes are ruled on without news
TURN = 0.618  # of it between one partition's round over all scopes and the next one's: they take turns

Version = tuple[int, int]


class Ruled(NamedTuple):
    """An outcome under its version."""

    outcome: Outcome
    version: Version


class Bench:
    """A judge with its clock. `lockstep` None: wall time, facts take effect as they come. With `engine` it speaks for
    the engine as well."""

    def __init__(
        self,
        judge: Judge,
        lockstep: LockStep | None,
        now: Millis,
        engine: EngineWatch | None = None,
        partition: int = 0,
    ) -> None:
        self.judge = judge
        self.epoch = now
        self._lockstep = lockstep
        self._engine = engine
        self._numbered = 0
        self._sooner = int(partition * TURN % 1 * TICK)  # than partition 0
        self._round: int | None = None
        # By identity: the row of each, held so that none is taken twice.
        self._waiting: dict[int, tuple[str, Timed]] = {}
        self._arrived = 0
        self._changes: dict[str, Any] = {EPOCH_ROW: now}
        self._tick: Millis | None = None  # the last in event time
        self._charged = False  # since then
        self._tells: dict[str, Charge] = {}
        self._told_at: Millis = 0
        self._reports: list[Alert] = []
        self._reported: dict[str, None] = {}  # ids, oldest first: one report of a kind is enough

    def restore(self, rows: Mapping[str, Any]) -> None:
        """Take up the rows of an earlier owner; versions go on above its own, whatever this machine's clock says."""
        own = dict(rows)
        with reading(EPOCH_ROW):
            self.raise_epoch(own.pop(EPOCH_ROW, 0))
        waiting = [(key, as_stored(key, own.pop(key), Timed)) for key in sorted(own) if key.startswith(WAITING)]
        former: list[Timed] = as_stored(FORMER_WAITING_ROW, own.pop(FORMER_WAITING_ROW, []), list[Timed])
        said = own.pop(ENGINE_ROW, None)
        if self._engine is not None and said is not None:
            self._engine.row = as_stored(ENGINE_ROW, said, EngineRow)
        self.judge.restore(own)
        if self._lockstep is not None:
            for mark in self.judge.marks.known.values():
                self._lockstep.vouch(mark)
            self._wait_again(self._lockstep, waiting, former)

    def adopt(self, policy: Policy, rulebook: Rulebook) -> None:
        """Go on under this policy."""
        self.judge.adopt(policy, rulebook)
        if self._engine is not None:
            self._engine.adopt(policy.alerts)

    def raise_epoch(self, held: int) -> None:
        """Someone holds this epoch: ours must be greater."""
        if held >= self.epoch:
            self.epoch, self._numbered = held + 1, 0
        self._changes[EPOCH_ROW] = self.epoch

    def add(self, fact: Fact) -> bool:
        """Take a fact: at once in wall time, at its tick in event time. Whether it may be news."""
        if self._lockstep is None:
            if type(fact) is Watermark and self._engine is not None:
                self._engine.hear(fact)
            return self.judge.apply(fact)
        if isinstance(fact, Charge):  # told by another judge at its own tick, so it has come of age
            self.judge.apply(fact)
            self._charged = True
            return True
        self._lockstep.add(fact)
        if isinstance(fact, Watermark) and fact.source != "usage":
            self.judge.apply(fact)
        return True

    def rule(self, now: Millis) -> Iterator[Ruled]:
        """Rule on what was touched; now and then on what has aged."""
        if self._lockstep is None:
            every = self._time_for_all(now)
            if every:
                self.judge.age(now)
            yield from self._number(self.judge.rule(now, pace=PACE))
            if every and self._engine is not None:
                self._watch(self._engine, now)
            return
        for tick in self._lockstep.steps(self.judge):
            self._tick, self._charged = tick, False
            yield from self._number(self.judge.rule(tick, every=True))
        if self._charged and self._tick is not None:
            self._charged = False
            yield from self._number(self.judge.rule(self._tick))

    def again(self) -> Iterator[Ruled]:
        """The current rulings of all scopes under new versions."""
        return self._number(self.judge.current())

    def take_tells(self, now: Millis) -> list[Charge]:
        """What other scopes are to be told: at most a few times a second, of each the newest."""
        if self._lockstep is None and 0 <= now - self._told_at < PAUSE:
            return []
        tells, self._tells = list(self._tells.values()), {}
        self._told_at = now if tells else self._told_at
        return tells

    def report(self, scope: Scope, alert: Callable[[Ruling], Alert]) -> bool:
        """Keep an alert about a scope for the next flush; false if the scope is not ours, or nothing was ruled about
        it yet."""
        ruling = self.judge.ruling(scope)
        if ruling is None:
            return False
        raised = alert(ruling)
        fresh = raised.id not in self._reported
        self._reported[raised.id] = None
        self._reports += [raised] if fresh else []
        if len(self._reported) > REPORTS_KEPT:
            del self._reported[next(iter(self._reported))]
        return fresh

    def take_reports(self) -> list[Alert]:
        """The reports since the last call."""
        taken, self._reports = self._reports, []
        return taken

    def take_rows(self) -> dict[str, Any]:
        """The rows changed since the last call."""
        rows = self.judge.take_rows() | self._changes
        self._changes = {}
        if self._lockstep is not None:
            rows |= self._waiting_rows(self._lockstep.waiting())
        return rows

    def _wait_again(self, lockstep: LockStep, waiting: list[tuple[str, Timed]], former: list[Timed]) -> None:
        """What waited goes on waiting, in the order in which it came."""
        for key, fact in waiting:
            lockstep.add(fact)
            self._waiting[id(fact)] = key, fact
            self._arrived = int(key.removeprefix(WAITING))
        for fact in former:
            lockstep.add(fact)
        if former:
            self._changes[FORMER_WAITING_ROW] = None

    def _waiting_rows(self, facts: Iterable[Timed]) -> dict[str, Any]:
        """What waits has a row each, so that a flush writes what came and what went, however much waits."""
        before, self._waiting = self._waiting, {}
        rows: dict[str, Any] = {}
        for fact in facts:
            kept = before.pop(id(fact), None)
            if kept is None:
                self._arrived += 1
                kept = f"{WAITING}{self._arrived:016}", fact
                rows[kept[0]] = msgspec.to_builtins(fact)
            self._waiting[id(fact)] = kept
        return dict.fromkeys(key for key, _ in before.values()) | rows

    def _watch(self, engine: EngineWatch, now: Millis) -> None:
        alerts, changed = engine.look(self.judge.marks, now)
        self._reports += alerts
        if changed:
            self._changes[ENGINE_ROW] = msgspec.to_builtins(engine.row)

    def _time_for_all(self, now: Millis) -> bool:
        before, self._round = self._round, (now + self._sooner) // TICK
        return self._round != before

    def _number(self, outcomes: Iterable[Outcome]) -> Iterator[Ruled]:
        for outcome in outcomes:
            self._numbered += 1
            version = (self.epoch, self._numbered)
            if outcome.tells:
                self._tells |= {fact.key: replace(fact, version=version) for fact in outcome.tells}
            yield Ruled(outcome, version)
