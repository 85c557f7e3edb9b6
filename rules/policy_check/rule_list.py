"""The section `rules`, and the built-in rule file, which is the same list in a file of its own."""

from __future__ import annotations

from typing import Any

from rules.alerts import Severity
from rules.documented import SCOPE_FACTS
from rules.fault import Fault, Lines, Path
from rules.moment import DAY, SECOND
from rules.policy import RuleSpec
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, duration, flag, plain_name, text, whole
from rules.rulebook import ACTIONS, ON_ERROR, SCOPES, mistakes
from rules.saying import LANGUAGES

LONGEST_CONDITION = 1_000
LONGEST_SENTENCE = 500
REQUIRED = ("name", "scope", "when", "then", "says")

RULE: dict[str, Read] = {
    "name": plain_name,
    "scope": choice(SCOPES),
    "when": lambda value: text(_as_condition(value), LONGEST_CONDITION),
    "then": anything,
    "says": lambda value: _in_languages(value) if isinstance(value, dict) else {"en": text(value, LONGEST_SENTENCE)},
    "priority": whole(-1_000, 1_000),
    "for": duration(SECOND, 30 * DAY),
    "clear": lambda value: text(_as_condition(value), LONGEST_CONDITION),
    "keep_firing_for": duration(0, 30 * DAY),
    "on_error": choice(ON_ERROR),
    "dry_run": flag,
}
EFFECT: dict[str, Read] = {
    "action": choice(ACTIONS),
    "alert": choice(tuple(Severity)),
    "for": duration(SECOND, 400 * DAY),
}
_FIELDS = {"for": "lasting"}  # a word of Python


def check_rules(raw: object, lines: Lines | None = None) -> tuple[RuleSpec, ...] | list[Fault]:
    """A rule file of its own: one list of rules."""
    inspection = Inspection(lines or {})
    found = rule_list(inspection, (), raw)
    return inspection.faults or found


def rule_list(inspection: Inspection, path: Path, raw: object) -> tuple[RuleSpec, ...]:
    """The rules that are right. Names must differ, also from those of rules with mistakes."""
    found: list[RuleSpec | None] = []
    names: set[str] = set()
    for at, value in inspection.items(path, raw):
        given = inspection.fields(at, value, RULE, required=REQUIRED)
        if (name := given.get("name")) in names:
            inspection.report((*at, "name"), f"another rule is called '{name}' too")
        names.add(given.get("name", ""))
        found.append(_rule(inspection, at, given))
    return tuple(rule for rule in found if rule is not None)


def _rule(inspection: Inspection, path: Path, given: dict[str, Any]) -> RuleSpec | None:
    """The rule, if it is whole and right. What is there is checked even where something is missing."""
    effect: dict[str, Any] = {}
    if "then" in given:
        effect = _effect(inspection, (*path, "then"), given["then"])
    if "scope" not in given:
        return None
    own = {_FIELDS.get(key, key): value for key, value in given.items() if key not in ("then", "says")}
    said = _sayings(given.get("says", {}))
    spec = RuleSpec(**{"name": "", "action": "allow", "when": "true"} | own | said | effect)
    wrong = mistakes(spec, SCOPE_FACTS)
    for field, message in wrong:
        inspection.report((*path, field), message)
    return spec if not wrong and "action" in effect and given.keys() >= set(REQUIRED) else None


def _effect(inspection: Inspection, path: Path, raw: object) -> dict[str, Any]:
    """Only a ban may say how long it lasts."""
    effect = inspection.fields(path, raw, EFFECT, required=("action",))
    lasts = effect.pop("for", None)
    if lasts is not None and effect.get("action") != "ban":
        inspection.report((*path, "for"), "belongs to a ban; a rule that is to wait has `for` beside `when`")
    return effect | {"ban_for": lasts or 0}


def _in_languages(raw: dict[Any, Any]) -> dict[str, str]:
    """One sentence a language."""
    if not raw or set(raw) - set(LANGUAGES):
        raise BadValueError("is a sentence, or one for each language: {en: …, zh: …}")
    return {language: text(sentence, LONGEST_SENTENCE) for language, sentence in raw.items()}


def _sayings(given: dict[str, str]) -> dict[str, str]:
    """Where there is one language only, it is said to everybody."""
    return {"says": given.get("en") or given.get("zh", ""), "says_zh": given.get("zh", "") if "en" in given else ""}


def _as_condition(value: Any) -> Any:
    """`when: true` is a condition, although YAML reads no text there."""
    return str(value).lower() if isinstance(value, bool) else value
