"""Rules as data, compiled: the facts of a scope go in, one verdict with its reason comes out.

All rules of a scope are asked. The strictest action among those that fire wins, and the first rule that wants it
(higher priority first, then in the order of the file) names the decision. A rule that cannot be evaluated is reported;
if it restricts calls it counts as firing, so that a fault in a rule never opens what the rule was written to close,
unless the rule itself says what then (`on_error`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rules.condition import Condition, Failed, check_condition
from rules.fault import Fault, meant, shown
from rules.moment import Millis
from rules.policy import RuleSpec
from rules.rule_memory import NOTHING, Held, Memory, advance, banned_until, fires, remembers, wakes
from rules.saying import Piece, Saying
from rules.scope_facts import Facts, FactSpec

SCOPES = ("model", "tenant", "user", "ip", "global")

ACTIONS = ("kill", "ban", "block", "unknown", "degrade", "warn", "allow")
"""Strictest first. `unknown` refuses until something is known: milder than a block, stricter than a cheaper answer."""

BANNABLE = ("user", "ip")
"""Scopes of which the effect `ban` is known."""

RESTRICTING = ("kill", "ban", "block", "unknown", "degrade")


ON_ERROR = ("ignore", "warn", "block")
"""What a rule that cannot be evaluated may be taken for."""


class Asked(Struct, frozen=True):
    """A rule that holds and asks for an alert, whether or not it decides."""

    rule: str
    severity: str
    reason: str  # in the language of alerts


class Would(Struct, frozen=True):
    """A rule under trial (`dry_run`) that fires: what it would have done."""

    rule: str
    action: str
    reason: str


class Verdict(Struct, frozen=True, kw_only=True):
    """What the rules say about a scope, and why."""

    rule: str
    action: str
    reason: str
    told: str = ""  # the same in the language of alerts
    severity: str | None = None  # of the alert the deciding rule asks for
    until: Millis | None = None  # the end of the ban, if one decides
    fired: tuple[str, ...] = ()  # all rules that fire, strictest first
    failed: tuple[str, ...] = ()  # rules that could not be evaluated: `name: cause`
    asked: tuple[Asked, ...] = ()
    would: tuple[Would, ...] = ()
    memory: dict[str, Held] = {}  # what to hand over at the next look


class Rule(Struct, frozen=True):
    """A rule ready to be asked."""

    spec: RuleSpec
    condition: Condition
    says: Saying
    translated: Saying | None = None  # into the language of alerts, where that is another
    clear: Condition | None = None

    @property
    def tells(self) -> Saying:
        """What alerts say."""
        return self.translated or self.says


class Answer(NamedTuple):
    """What one rule says now. `rule`: as it applies, which for a failing one may be milder than it is written."""

    rule: Rule
    fires: bool
    failed: str = ""
    held: Held | None = None


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

    def decide(self, kind: str, facts: Facts, memory: Memory = NOTHING, now: Millis = 0) -> Verdict:
        """The verdict on a scope of this kind. `facts` holds every documented fact, unknown numbers as None; `memory`
        is that of the verdict before."""
        answers = [_ask(rule, facts, memory.get(rule.spec.name), now) for rule in self.rules.get(kind, ())]
        failed = tuple(f"{answer.rule.spec.name}: {answer.failed}" for answer in answers if answer.failed)
        if failed:
            answers.sort(key=lambda answer: _strictness(answer.rule))
        fired = [answer for answer in answers if answer.fires and not answer.rule.spec.dry_run]
        return replace(
            _verdict(fired, facts),
            failed=failed,
            would=tuple(_would(answer.rule, facts) for answer in answers if answer.fires and answer.rule.spec.dry_run),
            memory={answer.rule.spec.name: answer.held for answer in answers if answer.held is not None},
        )

    def wakes(self, kind: str, memory: Memory) -> Millis | None:
        """The next instant at which time alone may change the verdict; None: there is none."""
        return wakes((rule.spec for rule in self.rules.get(kind, ())), memory) if memory else None


def _ask(rule: Rule, facts: Facts, held: Held | None, now: Millis) -> Answer:
    found = rule.condition.holds(facts)
    if isinstance(found, Failed):
        return _failing(rule, found.why, held, now)
    if not remembers(rule.spec):
        return Answer(rule, found)
    ends = not found if rule.clear is None else rule.clear.holds(facts)
    why = ends.why if isinstance(ends, Failed) else ""
    # An end that cannot be evaluated has not come.
    then = advance(rule.spec, held, now, holds=found, ends=ends is True)
    return Answer(rule, then is not None and then.fired > 0, why and f"clear: {why}", then)


def _failing(rule: Rule, why: str, held: Held | None, now: Millis) -> Answer:
    """What a rule that cannot be evaluated is taken for; what it remembers stays. A failing kill or ban blocks: it
    would outlast the failure."""
    spec = rule.spec
    if spec.on_error == "ignore" or (spec.on_error is None and spec.action not in RESTRICTING):
        return Answer(rule, fires(spec, held, now), why, held)
    action = spec.on_error or ("block" if spec.action in {"kill", "ban"} else spec.action)
    return Answer(_excused(rule, replace(spec, action=action), why), True, why, held)


def _would(rule: Rule, facts: Facts) -> Would:
    return Would(rule.spec.name, rule.spec.action, rule.says.about(facts))


def _verdict(fired: Sequence[Answer], facts: Facts) -> Verdict:
    if not fired:
        return Verdict(rule="", action="allow", reason="no rule applies")
    first = fired[0].rule.spec
    rules = [answer.rule for answer in fired]
    reason, translated = rules[0].says.about(facts), rules[0].translated
    return Verdict(
        rule=first.name,
        action=first.action,
        reason=reason,
        told=reason if translated is None else translated.about(facts),
        severity=first.alert,
        until=banned_until(first, fired[0].held),
        fired=tuple(rule.spec.name for rule in rules),
        asked=tuple(
            Asked(rule.spec.name, rule.spec.alert, rule.tells.about(facts)) for rule in rules if rule.spec.alert
        ),
    )


def _excused(rule: Rule, spec: RuleSpec, why: str) -> Rule:
    """The rule as it applies where it could not be evaluated, with a sentence that says so."""
    taken = "it restricts calls, so it is taken to hold" if spec.on_error is None else f"on_error: {spec.on_error}"
    zh_taken = "它会限制调用，因此视为成立" if spec.on_error is None else f"on_error: {spec.on_error}"
    says = Saying((Piece(f"rule {spec.name} could not be evaluated ({why}); {taken}"),))
    zh = Saying((Piece(f"规则 {spec.name} 无法求值({why})；{zh_taken}"),))
    return Rule(spec, rule.condition, says, zh if rule.tells.language == "zh" else None, rule.clear)


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
    wrong = _wrong_condition(spec.when, facts[spec.scope])
    if wrong:
        found.append(("when", wrong))
    if spec.clear is not None and (wrong := _wrong_condition(spec.clear, facts[spec.scope])):
        found.append(("clear", wrong))
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


def _wrong_condition(source: str, facts: Sequence[FactSpec]) -> str | None:
    condition = Condition.compile(source)
    return condition if isinstance(condition, str) else check_condition(condition, facts)


def _wrong_saying(template: str, known: Sequence[str]) -> str | None:
    try:
        names = list(Saying.parse(template).names())
    except ValueError as error:
        return str(error)
    return next((f"there is no fact {shown(name)}{meant(name, known)}" for name in names if name not in known), None)


def _ready(spec: RuleSpec, language: str) -> Rule:
    clear = None if spec.clear is None else _compiled(spec.clear)
    translated = Saying.parse(spec.says_zh, "zh") if language == "zh" and spec.says_zh else None
    return Rule(spec, _compiled(spec.when), Saying.parse(spec.says), translated, clear)


def _compiled(source: str) -> Condition:
    condition = Condition.compile(source)
    if isinstance(condition, str):
        raise ValueError(condition)
    return condition
