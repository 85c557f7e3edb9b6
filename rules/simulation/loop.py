"""The closed loop: users call, the gate admits or refuses, the provider settles late and answers polls."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from msgspec import Struct

from rules.calendar import Calendar
from rules.moment import DAY, Millis
from rules.policy import ModelTerms
from rules.pool_state import Notice
from rules.records import Calibration, Reading
from rules.simulation.gates import FormulaGate, Gate, IntervalGate, KnowingGate, ToldGate, WatchingGate
from rules.simulation.kinds import Kind
from rules.simulation.provider import Provider
from rules.simulation.script import START, Chance, Script, draw, metered_since

KNOWING = "all-knowing"  # admits exactly what is really left
KNOWING_WITH_BUFFER = "all-knowing, with the buffer"
TOLD = "all-knowing, once told"  # the same, of packages that a reading has shown: nobody can know of others
CALENDAR = Calendar("Asia/Shanghai")


class Outcome(Struct, kw_only=True):
    """What one gate made of one script."""

    formula: str
    kind: str
    days: int
    used: int = 0  # free tokens used
    charged: int = 0
    blocks: int = 0  # calls refused
    false_blocks: int = 0  # of these, with enough free tokens left
    above: int = 0  # calls before which the limit was above the true pool less the buffer
    readings: int = 0
    outside: int = 0  # readings with the true pool outside the bounds
    slack: int = 0  # sum over readings of true pool - low end, where there is one
    pools: int = 0  # sum of the day's true pools at these readings
    accused: int = 0  # looks at which less was charged of the day than was told for certain
    overlooked: int = 0  # looks at which more was charged of the day than was told at most
    booked: int = 0  # readings at which the day's ledger was known
    misbooked: int = 0  # of these, with the true opening or closing not in it, or an opening that does not meet
    share: float = 0.0  # unmetered, as learned
    notices: list[Notice] = []


def play(script: Script, formula: str, terms: ModelTerms) -> Outcome:
    """Run one gate through a script."""
    provider = Provider(script.kind, terms.daily_cap)
    since = metered_since(script.kind)
    gate = _gate(formula, provider, terms, since, script.kind)
    table = _Table(script, provider, gate, since, terms.small_buffer)
    for at, what, detail in _events(script):
        table.take(at, what, detail)
    return table.outcome()


def compare(kind: Kind, days: int, chance: Chance, formulas: tuple[str, ...], terms: ModelTerms) -> list[Outcome]:
    """All formulas on the same days, the all-knowing gates first."""
    script = draw(kind, days, chance)
    return [play(script, formula, terms) for formula in (KNOWING, TOLD, *formulas)]


def _gate(formula: str, provider: Provider, terms: ModelTerms, since: Millis, kind: Kind) -> Gate:
    if formula == KNOWING:
        return KnowingGate(provider)
    if formula == KNOWING_WITH_BUFFER:
        return KnowingGate(provider, terms.small_buffer)
    if formula == TOLD:
        return ToldGate(provider, since)
    if formula in (IntervalGate.name, WatchingGate.name):
        made = IntervalGate if formula == IntervalGate.name else WatchingGate
        return made(terms, CALENDAR, since, kind.skew)
    return FormulaGate(formula, terms, yesterday=round(kind.pool * min(1.0, kind.demand)))


def _events(script: Script) -> Iterator[tuple[Millis, int, int]]:
    """All that happens in order of time. What comes of one instant: packages, batches, calls, then readings."""
    kind = script.kind
    days = ((START + day * DAY, 0, day) for day in range(script.days))
    returns = ((at, 1, day) for day, at in enumerate(script.returns))
    batches = ((at, 2, until) for at, until in script.batches)
    calls = ((at, 3, tokens) for at, tokens in script.calls)
    lumps = [] if kind.lump is None else [(START + round(kind.lump[0] * DAY), 4, kind.lump[1])]
    polls = ((at, 5, residual) for at, residual in script.polls)
    told = [] if kind.console is None else [(START + round(kind.console.day * DAY), 6, kind.console.error)]
    return merge(days, sorted(returns), batches, calls, lumps, polls, told)


class _Table:
    """The state of one run, and what happens to it."""

    def __init__(self, script: Script, provider: Provider, gate: Gate, since: Millis, buffer: int) -> None:
        self._script, self._provider, self._gate, self._since, self._buffer = script, provider, gate, since, buffer
        self._due: dict[int, int] = {}
        self._opening = 0  # what was really left when the day began
        self._charged_before = 0
        self._charged_by_dawn = 0
        self._out = Outcome(formula=gate.name, kind=script.kind.name, days=script.days)
        self._steps = (
            self._day,
            self._return,
            self._batch,
            self._call,
            self._unmetered,
            self._poll,
            self._calibrate,
        )

    def take(self, at: Millis, what: int, detail: int) -> None:
        self._steps[what](at, detail)

    def outcome(self) -> Outcome:
        if isinstance(self._gate, IntervalGate):
            self._out.notices = self._gate.notices
            self._out.share = self._gate.bounds.share if self._gate.bounds else 0.0
        self._out.charged = self._provider.charged - self._charged_before
        return self._out

    def _day(self, at: Millis, day: int) -> None:
        kind = self._script.kind
        if day == 0:
            for ends in kind.ends:
                self._provider.grant(round(kind.extra * kind.pool), at - DAY, at + round(ends * DAY), kind.lists_ends)
            self._provider.grant(kind.pool, at - DAY)
        else:
            self._due[day - 1] = self._provider.turn_day()
            self._gate.turn_day(at)
        self._charged_by_dawn = self._provider.charged
        self._opening = self._provider.remaining(at - 1)  # what ends with the old day is booked on the new one

    def _return(self, at: Millis, day: int) -> None:
        self._provider.grant(self._due.pop(day), at)

    def _batch(self, _: Millis, until: Millis) -> None:
        self._provider.settle(until)

    def _call(self, at: Millis, tokens: int) -> None:
        if at < self._since:
            self._provider.consume(at, tokens)
            self._charged_before = self._charged_by_dawn = self._provider.charged
            self._opening = self._provider.remaining(at)
            return
        room, left = self._gate.room(at), self._provider.remaining(at)
        self._out.above += room is not None and self._gate.name != WatchingGate.name and room > left - self._buffer
        if room is None or tokens > room:
            self._out.blocks += 1
            self._out.false_blocks += tokens <= left
            return
        self._out.used += min(tokens, left)
        self._provider.consume(at, tokens + round(tokens * self._script.kind.unmetered))
        self._gate.count(at, tokens)

    def _unmetered(self, at: Millis, tokens: int) -> None:
        self._provider.consume(at, tokens)

    def _poll(self, at: Millis, residual: int) -> None:
        if isinstance(self._gate, IntervalGate):
            self._gate.evaluate(at)  # a package may have come that nobody has seen
            self._judge_charges(self._gate)
        available, packages = self._provider.answer(at, residual)
        self._gate.hear(Reading(id=f"bal-{at}", at=at, model="m", available=available, source="api", packages=packages))
        if isinstance(self._gate, IntervalGate):
            self._check(at, self._gate)
            self._judge_charges(self._gate)

    def _calibrate(self, at: Millis, error: int) -> None:
        """An operator enters what the console said, and errs."""
        console = self._script.kind.console
        if console is not None and isinstance(self._gate, IntervalGate):
            pool, day = max(0, self._opening + error), CALENDAR.day(at)
            told = Calibration(id=f"cal-{at}", at=at, model="m", day=day, pool=pool, force=console.force)
            self._gate.calibrate(told)

    def _check(self, at: Millis, gate: IntervalGate) -> None:
        """Is the true pool between the ends, and how far below it is the low one?"""
        bounds, metered = gate.bounds, gate.metered(at)
        if bounds is None:
            return
        pool = metered.total + self._provider.remaining(at) - self._provider.overrun
        self._out.readings += 1
        below = bounds.pool_high is not None and bounds.pool_high < pool
        if below or (bounds.pool_low is not None and bounds.pool_low > pool):
            self._out.outside += 1
        if bounds.pool_low is not None:
            self._out.slack += pool - bounds.pool_low
            self._out.pools += pool - metered.day_base
        self._audit(at, gate)

    def _judge_charges(self, gate: IntervalGate) -> None:
        """Is what was really charged of the day between the ends told?"""
        if gate.bounds is not None:
            really = self._provider.charged - self._charged_by_dawn
            self._out.accused += gate.bounds.charged_low > really
            self._out.overlooked += gate.bounds.charged_high < really and gate.bounds.pool_low is not None

    def _audit(self, at: Millis, gate: IntervalGate) -> None:
        """Does the day's ledger hold what is true?"""
        ledger = gate.ledger(at)
        if ledger is None:
            return
        self._out.booked += 1
        truth = ((ledger.opening, self._opening), (ledger.closing, self._provider.remaining(at)))
        right = all(known.low <= true <= known.high for known, true in truth)
        self._out.misbooked += not (right and ledger.meets)
