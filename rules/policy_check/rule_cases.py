"""A file of rule tests, checked whole: all its mistakes at once, each with its field and line."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import pairwise
from typing import Any

from msgspec import Struct

from rules.documented import SCOPE_FACTS
from rules.fault import Fault, Lines, Path, meant, shown
from rules.moment import DAY
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, duration, text
from rules.rule_case import Case, Expected, Facts, Look
from rules.rulebook import ACTIONS
from rules.scope_facts import FactSpec, FactValue

FILE: dict[str, Read] = {"policy": text, "tests": anything}
CASE: dict[str, Read] = {
    "name": text,
    "scope": choice(tuple(SCOPE_FACTS)),
    "facts": anything,
    "at": anything,
}
LOOK: dict[str, Read] = {
    "time": duration(0, 400 * DAY),
    "facts": anything,
    "action": choice(ACTIONS),
    "rule": text,
    "reason": lambda value: text(value, 1_000),
    "alerts": anything,
    "would": anything,
    "failed": anything,
}
_LISTS = ("alerts", "would", "failed")
_PLAIN = ("action", "rule", "reason")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "bool": (bool,),
    "int": (int,),
    "double": (int, float, Decimal),
}


class CaseFile(Struct, frozen=True):
    """The tests, and the policy whose rules they are about; empty: the built-in ones alone."""

    policy: str
    cases: tuple[Case, ...]


def check_cases(raw: object, lines: Lines | None = None) -> CaseFile | list[Fault]:
    """The file, or every mistake in it."""
    inspection = Inspection(lines or {})
    given = inspection.fields((), raw, FILE, required=("tests",))
    cases = tuple(_case(inspection, *item) for item in inspection.items(("tests",), given.get("tests", ())))
    return sorted(inspection.faults) or CaseFile(given.get("policy", ""), cases)


def _case(inspection: Inspection, path: Path, raw: object) -> Case:
    given = inspection.fields(path, raw, CASE, required=("name", "scope", "at"))
    scope = given.get("scope", "")
    facts = _facts(inspection, (*path, "facts"), given.get("facts", {}), scope)
    looks = [_look(inspection, *item, scope) for item in inspection.items((*path, "at"), given.get("at", ()))]
    for before, after in pairwise(looks):
        if after.at < before.at:
            inspection.report((*path, "at"), "times must not go back")
    return Case(name=given.get("name", ""), scope=scope, facts=facts, looks=tuple(looks))


def _look(inspection: Inspection, path: Path, raw: object, scope: str) -> Look:
    given = inspection.fields(path, raw, LOOK, required=("time",))
    lists = {
        field: tuple(name for at, value in inspection.items((*path, field), given[field])
                     if (name := inspection.value(at, value, text)) is not None)
        for field in _LISTS
        if field in given
    }  # fmt: skip
    plain: dict[str, Any] = {field: given[field] for field in _PLAIN if field in given}
    return Look(
        at=given.get("time", 0),
        facts=_facts(inspection, (*path, "facts"), given.get("facts", {}), scope),
        expected=Expected(**(plain | lists)),
        line=inspection.lines.get(path, 0),
    )


def _facts(inspection: Inspection, path: Path, raw: object, scope: str) -> Facts:
    """Facts by name, of the documented kinds; null where a number may be unknown."""
    known = {spec.name: spec for spec in SCOPE_FACTS.get(scope, ())}
    if not isinstance(raw, Mapping):
        inspection.report(path, "must be a mapping from facts to values")
        return {}
    found: Facts = {}
    for name, value in raw.items():
        if name not in known:
            inspection.report((*path, str(name)), f"there is no fact {shown(name)}{meant(str(name), known)}")
            continue
        try:
            found[name] = _fact(known[name], value)
        except BadValueError as mistake:
            inspection.report((*path, name), str(mistake))
    return found


def _fact(spec: FactSpec, value: Any) -> FactValue:
    if value is None:
        if spec.nullable:
            return None
        raise BadValueError("is always known; null is no value of it")
    kinds: Any = _KINDS[spec.kind]
    if not isinstance(value, kinds) or (isinstance(value, bool) and spec.kind != "bool"):
        raise BadValueError(f"must be a {spec.kind}, found {shown(value)}")
    return float(value) if spec.kind == "double" else value
