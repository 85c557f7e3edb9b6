"""A test of rules as data: facts of a scope over time, and what the rules are to say then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from rules.model_facts import derive_share
from rules.moment import Millis
from rules.rule_memory import Held
from rules.rulebook import Rulebook, Verdict
from rules.scope_facts import FactSpec, FactValue

START: Millis = 1_786_500_000_000  # of every case; rules see lengths of time only
MOST_WAKES = 1_000  # between two looks: a ban of a second over a month would never end

Facts = dict[str, FactValue]

DERIVED: Mapping[str, Callable[[Facts], Facts]] = dict.fromkeys(("model", "tenant", "global"), derive_share)
"""Facts of a scope that follow from its others, and need not be given."""


class Expected(Struct, frozen=True, kw_only=True):
    """What the verdict is to say; None: anything."""

    action: str | None = None
    rule: str | None = None
    reason: str | None = None
    alerts: tuple[str, ...] | None = None  # rules that ask for one
    would: tuple[str, ...] | None = None  # rules under trial that fire
    failed: tuple[str, ...] | None = None  # rules that cannot be evaluated


class Look(Struct, frozen=True, kw_only=True):
    """A point in time: facts that change there and hold from then on, and what is expected."""

    at: Millis
    facts: Facts = {}
    expected: Expected = Expected()
    line: int = 0


class Case(Struct, frozen=True, kw_only=True):
    """One test."""

    name: str
    scope: str
    facts: Facts = {}
    looks: tuple[Look, ...] = ()


class Difference(NamedTuple):
    """A word of the verdict that is not as expected."""

    field: str
    wanted: str
    got: str


class Missed(NamedTuple):
    """A look whose verdict is not as expected."""

    look: Look
    differences: tuple[Difference, ...]
    reason: str
    facts: Facts


def run(case: Case, rulebook: Rulebook, specs: tuple[FactSpec, ...]) -> list[Missed]:
    """Every look of a case that misses. Between two looks rules are asked whenever time alone may change what they
    say, as the judge asks them."""
    missed = []
    given = case.facts
    memory: dict[str, Held] = {}
    now = START
    for look in case.looks:
        memory = _pass(rulebook, case.scope, _whole(case.scope, specs, given), memory, now, START + look.at)
        now, given = START + look.at, given | look.facts
        facts = _whole(case.scope, specs, given)
        verdict = rulebook.decide(case.scope, facts, memory, now)
        memory = verdict.memory
        if differences := tuple(_differences(look.expected, verdict)):
            missed.append(Missed(look, differences, verdict.reason, facts))
    return missed


def _whole(scope: str, specs: tuple[FactSpec, ...], given: Facts) -> Facts:
    """Every fact of a scope: what was given, what follows from it, and the rest as where nothing is known or used."""
    known = {spec.name: None if spec.nullable else spec.samples[0] for spec in specs} | given
    derive = DERIVED.get(scope)
    return known if derive is None else known | derive(known) | given


def _pass(
    rulebook: Rulebook, scope: str, facts: Facts, memory: dict[str, Held], begin: Millis, end: Millis
) -> dict[str, Held]:
    """The memory at `end`, while the facts stay as they are."""
    for _ in range(MOST_WAKES):
        wakes = rulebook.wakes(scope, memory)
        if wakes is None or not begin < wakes < end:
            break
        begin, memory = wakes, rulebook.decide(scope, facts, memory, wakes).memory
    return memory


def _differences(expected: Expected, verdict: Verdict) -> Iterator[Difference]:
    got: dict[str, str | tuple[str, ...]] = {
        "action": verdict.action,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "alerts": tuple(asked.rule for asked in verdict.asked),
        "would": tuple(would.rule for would in verdict.would),
        "failed": tuple(failure.partition(":")[0] for failure in verdict.failed),
    }
    for field, found in got.items():
        wanted = getattr(expected, field)
        if wanted is not None and wanted != found:
            yield Difference(field, _shown(wanted), _shown(found))


def _shown(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else f"[{', '.join(value)}]"
