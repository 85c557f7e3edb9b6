"""Why a decision is as it is: the rule, the facts it looked at, the walls of the limit, both ends of the pool with the
readings that gave them, and everything that shaped them in order of time. Numbers only; words are for who shows them.
"""

from __future__ import annotations

from msgspec import Struct

from rules.account import Account
from rules.facts import Scope
from rules.formulas import FORMULAS, Inputs
from rules.grounds import Grounds, LagBound, Moved, Part, Remembered, Said
from rules.limit import Wall
from rules.moment import Millis
from rules.pool_state import Expired
from rules.records import Refusal
from rules.rulebook import RESTRICTING, Rulebook
from rules.scope_facts import FactValue


class Decided(Struct, frozen=True, kw_only=True):
    """A decision as it was told, from whatever history."""

    scope: Scope
    at: Millis
    until: Millis | None
    action: str
    rule: str
    reason: str
    formula: str
    policy: str
    version: tuple[int, int]
    origin: str  # where it stood: topic/partition/offset, or the recording
    facts: dict[str, FactValue]
    lag_tokens_low: int | None = None
    lag_tokens_high: int | None = None
    grounds: Grounds | None = None  # None: another version wrote it
    account: Account | None = None  # of the day; only entries of the history carry one
    refusal: Refusal | None = None  # the last call of the day that the recorded gate says it refused

    def number(self, name: str) -> int | None:
        """A fact that is a whole number, or unknown."""
        value = self.facts.get(name)
        return value if isinstance(value, int) else None


class Asked(Struct, frozen=True, kw_only=True):
    """A rule and its answer. `holds` is None where the policy at hand is another than the one that decided."""

    name: str
    action: str
    when: str
    says: str
    holds: bool | None


class WallHeight(Struct, frozen=True, kw_only=True):
    """One of the numbers of which the limit is the least. `tokens` None: unknown."""

    name: str  # cap, or the formula
    sum: str
    tokens: int | None
    bites: bool


class EndSum(Struct, frozen=True, kw_only=True):
    """How an end of the pool came about: what the reading says, less (or plus) the allowance for residuals."""

    value: int
    giver: Said | Remembered
    raw: int
    allowance: int
    crossed: bool = False  # the high end is lower than this reading says, and rules


class OtherFormula(Struct, frozen=True, kw_only=True):
    """What another formula would have said. `beyond`: its limit lies so far in the charged zone, at least."""

    name: str
    sum: str
    raw: int | None
    limit: int | None
    refuses: bool
    left: int  # free tokens that are left at least while it refuses
    beyond: int
    flaw: str


class Step(Struct, frozen=True, kw_only=True):
    """Something that bears on the pool, at its time."""

    at: Millis
    what: Said | Remembered | Moved | Expired | LagBound | Refusal


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything behind a decision."""

    decided: Decided
    when: str  # the condition of the rule that decided
    asked: tuple[Asked, ...]  # strictest first
    same_policy: bool  # whether the policy at hand is the one that decided
    walls: tuple[WallHeight, ...] = ()
    low: EndSum | None = None
    high: EndSum | None = None
    steps: tuple[Step, ...] = ()
    others: tuple[OtherFormula, ...] = ()


def explain(decided: Decided, rulebook: Rulebook, policy: str) -> Explanation:
    """Explain a decision about a model; `policy` is the hash of the policy that `rulebook` is of."""
    grounds, same = decided.grounds, decided.policy == policy
    asked = _asked(decided, rulebook, same)
    when = next((rule.when for rule in asked if rule.name == decided.rule), "")
    if grounds is None:
        return Explanation(decided=decided, when=when if same else "", asked=asked, same_policy=same)
    low, high = _ends(decided, grounds)
    given = _inputs(decided, grounds)
    return Explanation(
        decided=decided,
        when=grounds.when,
        asked=asked,
        same_policy=same,
        walls=_walls(decided, grounds, given),
        low=low,
        high=high,
        steps=_steps(decided, grounds),
        others=tuple(_other(name, decided, grounds, given) for name in FORMULAS if name != decided.formula),
    )


def _asked(decided: Decided, rulebook: Rulebook, same: bool) -> tuple[Asked, ...]:
    rules = rulebook.rules.get(decided.scope.partition(":")[0], ())
    return tuple(
        Asked(
            name=rule.spec.name,
            action=rule.spec.action,
            when=rule.spec.when,
            says=rule.spec.says,
            holds=_holds(rule.condition.holds(decided.facts), rule.spec.action) if same else None,
        )
        for rule in rules
        if set(rule.condition.names) <= decided.facts.keys()
    )


def _holds(found: object, action: str) -> bool:
    """A rule that cannot be evaluated holds if it restricts calls."""
    return found if isinstance(found, bool) else action in RESTRICTING


def _inputs(decided: Decided, grounds: Grounds) -> Inputs:
    low = decided.number("pool_low")
    return Inputs(
        pool_low=None if low is None else max(0, low),
        small_buffer=grounds.terms.small_buffer,
        balance=grounds.balance,
        usage=grounds.usage,
        yesterday=grounds.yesterday,
    )


def _walls(decided: Decided, grounds: Grounds, given: Inputs) -> tuple[WallHeight, ...]:
    formula, wall = FORMULAS.get(decided.formula), decided.facts.get("wall")
    cap = WallHeight(name="cap", sum="", tokens=grounds.terms.daily_cap, bites=wall == Wall.CAP)
    if formula is None:
        return (cap,)
    tokens = formula.limit(given)
    return (WallHeight(name=formula.name, sum=formula.sum(given), tokens=tokens, bites=wall == Wall.POOL), cap)


def _ends(decided: Decided, grounds: Grounds) -> tuple[EndSum | None, EndSum | None]:
    lows = [said for said in grounds.readings if Part.LOW in said.parts]
    highs = [said for said in grounds.readings if Part.HIGH in said.parts]
    giver = grounds.remembered or (highs[0] if highs else None)
    raw, published = None if giver is None else giver.high, decided.number("pool_high")
    high = None
    if giver is not None and raw is not None and published is not None:
        high = EndSum(value=published, giver=giver, raw=raw, allowance=published - raw)
    return _low(lows[0], high, decided.number("pool_low")) if lows else None, high


def _low(said: Said, high: EndSum | None, published: int | None) -> EndSum | None:
    raw = said.low
    if raw is None or published is None:
        return None
    crossed = high is not None and high.raw < raw
    ruling = high.raw if high is not None and crossed else raw
    return EndSum(value=published, giver=said, raw=raw, allowance=ruling - published, crossed=crossed)


def _steps(decided: Decided, grounds: Grounds) -> tuple[Step, ...]:
    steps = [Step(at=said.at if said.entered is None else said.entered, what=said) for said in grounds.readings]
    steps += [Step(at=moved.at, what=moved) for moved in grounds.moves]
    steps += [Step(at=expired.at, what=expired) for expired in grounds.expired]
    if grounds.remembered is not None:
        steps.append(Step(at=grounds.remembered.at, what=grounds.remembered))
    if grounds.lag.at:
        steps.append(Step(at=grounds.lag.at, what=grounds.lag))
    if decided.refusal is not None:
        steps.append(Step(at=decided.refusal.at, what=decided.refusal))
    return tuple(sorted(steps, key=lambda step: step.at))


def _other(name: str, decided: Decided, grounds: Grounds, given: Inputs) -> OtherFormula:
    formula, used = FORMULAS[name], decided.number("used") or 0
    raw = formula.limit(given)
    limit = None if raw is None else min(raw, grounds.terms.daily_cap)
    low, high = decided.number("pool_low"), decided.number("pool_high")
    refuses = limit is None or used >= limit
    free = 0 if low is None else low - used
    return OtherFormula(
        name=name,
        sum=formula.sum(given),
        raw=raw,
        limit=limit,
        refuses=refuses,
        left=max(0, free) if refuses else 0,
        beyond=0 if raw is None or high is None else max(0, raw - high),
        flaw=formula.flaw,
    )
