"""Rules as data, compiled: the facts of a scope go in, one verdict with its reason comes out.

All rules of a scope are asked. The strictest action among those that hold wins, and the first rule that wants it
(higher priority first, then in the order of the file) names the decision. A rule that cannot be evaluated is reported;
if it restricts calls it counts as holding, so that a fault in a rule never opens what the rule was written to close.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rules.condition import Condition, Failed, check_condition
from rules.fault import Fault, meant, shown
from rules.policy import RuleSpec
from rules.saying import Piece, Saying
from rules.scope_facts import Facts, FactSpec

SCOPES = ("model", "tenant", "user", "ip", "global")

ACTIONS = ("kill", "ban", "block", "unknown", "degrade", "warn", "allow")
"""Strictest first. `unknown` refuses until something is known: milder than a block, stricter than a cheaper answer."""

BANNABLE = ("user", "ip")
"""Scopes of which the effect `ban` is known."""

RESTRICTING = ("kill", "ban", "block", "unknown", "degrade")


class Asked(Struct, frozen=True):
    """A rule that holds and asks for an alert, whether or not it decides."""

    rule: str
    severity: str
    reason: str  # in the language of alerts


class Verdict(Struct, frozen=True, kw_only=True):
    """What the rules say about a scope, and why."""

    rule: str
    action: str
    reason: str
    told: str = ""  # the same in the language of alerts
    severity: str | None = None  # of the alert the deciding rule asks for
    fired: tuple[str, ...] = ()  # all rules that hold, strictest first
    failed: tuple[str, ...] = ()  # rules that could not be evaluated: `name: cause`
    asked: tuple[Asked, ...] = ()


class Rule(Struct, frozen=True):
    """A rule ready to be asked."""

    spec: RuleSpec
    condition: Condition
    says: Saying
    translated: Saying | None = None  # into the language of alerts, where that is another

    @property
    def tells(self) -> Saying:
        """What alerts say."""
        return self.translated or self.says


class Rulebook:
    """The compiled rules of all kinds of scope."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules: dict[str, tuple[Rule, ...]] = {}
        for rule in sorted(rules, key=_strictness):
            self.rules[rule.spec.scope] = (*self.rules.get(rule.spec.scope, ()), rule)

    @classmethod
    def compile(
        cls, specs: Sequence[RuleSpec], facts: Mapping[str, Sequence[FactSpec]], language: str = "en"
    ) -> Rulebook | list[Fault]:
        """The rulebook, or every mistake in the rules. `facts`: the documented facts of each kind of scope; `language`:
        of alerts."""
        faults = [
            Fault(0, f"rules[{number}].{field}", message)
            for number, spec in enumerate(specs)
            for field, message in mistakes(spec, facts)
        ]
        return faults or cls(_ready(spec, language) for spec in specs)

    def rule(self, kind: str, name: str) -> RuleSpec | None:
        """A rule by its name."""
        return next((rule.spec for rule in self.rules.get(kind, ()) if rule.spec.name == name), None)

    def decide(self, kind: str, facts: Facts) -> Verdict:
        """The verdict on a scope of this kind. `facts` holds every documented fact, unknown numbers as None."""
        asked = [(rule, rule.condition.holds(facts)) for rule in self.rules.get(kind, ())]
        failed = {rule.spec.name: found.why for rule, found in asked if isinstance(found, Failed)}
        fired = [rule for rule, found in asked if found is True or (found and rule.spec.action in RESTRICTING)]
        if failed:
            return _with_failures(fired, failed, facts)
        return _verdict(fired, facts)


def _verdict(fired: Sequence[Rule], facts: Facts) -> Verdict:
    if not fired:
        return Verdict(rule="", action="allow", reason="no rule applies")
    first = fired[0].spec
    reason, translated = fired[0].says.about(facts), fired[0].translated
    return Verdict(
        rule=first.name,
        action=first.action,
        reason=reason,
        told=reason if translated is None else translated.about(facts),
        severity=first.alert,
        fired=tuple(rule.spec.name for rule in fired),
        asked=tuple(
            Asked(rule.spec.name, rule.spec.alert, rule.tells.about(facts)) for rule in fired if rule.spec.alert
        ),
    )


def _with_failures(fired: Sequence[Rule], failed: Mapping[str, str], facts: Facts) -> Verdict:
    """A rule that decides only because it failed says so. A failing kill or ban blocks: it would outlast
    the failure."""

    def applied(rule: Rule) -> RuleSpec:
        if rule.spec.name not in failed:
            return rule.spec
        action = "block" if rule.spec.action in {"kill", "ban"} else rule.spec.action
        return replace(rule.spec, action=action)

    ready = sorted((_excused(rule, applied(rule), failed.get(rule.spec.name)) for rule in fired), key=_strictness)
    return replace(_verdict(ready, facts), failed=tuple(f"{name}: {why}" for name, why in failed.items()))


def _excused(rule: Rule, spec: RuleSpec, why: str | None) -> Rule:
    """The rule, or where it could not be evaluated a sentence that says so."""
    if why is None:
        return rule
    name = spec.name
    says = f"rule {name} could not be evaluated ({why}); it restricts calls, so it is taken to hold"
    zh = f"规则 {name} 无法求值({why})；它会限制调用，因此视为成立"
    translated = Saying((Piece(zh),)) if rule.tells.language == "zh" else None
    return Rule(spec, rule.condition, Saying((Piece(says),)), translated)


def _strictness(rule: Rule) -> tuple[int, int]:
    return ACTIONS.index(rule.spec.action), -rule.spec.priority


def override(built_in: Sequence[RuleSpec], own: Sequence[RuleSpec]) -> tuple[RuleSpec, ...]:
    """The built-in rules with one's own after them; one of the same name takes the place of the built-in."""
    rules = {spec.name: spec for spec in built_in}
    rules.update((spec.name, spec) for spec in own)
    return tuple(rules.values())


def mistakes(spec: RuleSpec, facts: Mapping[str, Sequence[FactSpec]]) -> list[tuple[str, str]]:
    """What is wrong with a rule: (field, message)."""
    if spec.scope not in facts:
        return [("scope", f"rules over '{spec.scope}' are not evaluated by this version; known: {', '.join(facts)}")]
    found = []
    condition = Condition.compile(spec.when)
    wrong = condition if isinstance(condition, str) else check_condition(condition, facts[spec.scope])
    if wrong:
        found.append(("when", wrong))
    known = [fact.name for fact in facts[spec.scope]]
    sentences = [spec.says, *([spec.says_zh] if spec.says_zh else [])]
    found += [("says", wrong) for sentence in sentences if (wrong := _wrong_saying(sentence, known))]
    if spec.action not in ACTIONS:
        found.append(("then.action", f"{shown(spec.action)} is not known here{meant(spec.action, ACTIONS)}"))
    if spec.action == "ban" and spec.scope not in BANNABLE:
        found.append(
            ("then.action", f"a {spec.scope} is not banned, only {' and '.join(BANNABLE)}; write kill or block")
        )
    return found


def _wrong_saying(template: str, known: Sequence[str]) -> str | None:
    try:
        names = list(Saying.parse(template).names())
    except ValueError as error:
        return str(error)
    return next((f"there is no fact {shown(name)}{meant(name, known)}" for name in names if name not in known), None)


def _ready(spec: RuleSpec, language: str) -> Rule:
    condition = Condition.compile(spec.when)
    if isinstance(condition, str):
        raise ValueError(condition)
    translated = Saying.parse(spec.says_zh, "zh") if language == "zh" and spec.says_zh else None
    return Rule(spec, condition, Saying.parse(spec.says), translated)
