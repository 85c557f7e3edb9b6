"""From rules and facts to one verdict: the strictest rule that holds, the first that wants it, and rules that fail."""

from __future__ import annotations

import itertools

import pytest
from blastdoor_gateway.contract import Action
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rules.policy import RuleSpec
from rules.rulebook import ACTIONS, RESTRICTING, Rulebook, Verdict, override
from rules.ruling import PUBLISHED
from rules.scope_facts import decimal, text, whole

FACTS = {
    "user": (
        text("model", "name", "m"),
        whole("used", "tokens"),
        whole("limit", "tokens", nullable=True),
        decimal("share", "part"),
    )
}
NOW = {"model": "m", "used": 1_234_567, "limit": None, "share": 0.5}
OVERFLOW = "used + used > 0"  # fails for what does not fit 64 bits
HUGE = NOW | {"used": 2**62}


def rule(name: str, action: str, when: str = "true", says: str = "", **more: object) -> RuleSpec:
    return RuleSpec(name=name, scope="user", when=when, action=action, says=says or f"{name} says so", **more)  # type: ignore[arg-type]


def book(*rules: RuleSpec) -> Rulebook:
    found = Rulebook.compile(rules, FACTS)
    assert isinstance(found, Rulebook), found
    return found


def test_actions_are_those_of_the_contract() -> None:
    """What a rule may want is what a gateway understands; a ban is told as the kill of one user or address."""
    assert {PUBLISHED.get(action, action) for action in ACTIONS} == set(Action)


@pytest.mark.parametrize("pair", list(itertools.combinations(ACTIONS, 2)), ids="-".join)
def test_the_stricter_action_wins(pair: tuple[str, str]) -> None:
    """kill > ban > block > unknown > degrade > warn > allow, whatever the order and priority of the rules."""
    stricter, milder = pair
    for rules in (
        (rule("a", stricter), rule("b", milder, priority=9)),
        (rule("b", milder, priority=9), rule("a", stricter)),
    ):
        verdict = book(*rules).decide("user", NOW)
        assert (verdict.rule, verdict.action) == ("a", stricter)
        assert verdict.fired == ("a", "b")


def test_the_first_rule_of_the_strictest_action_names_the_decision() -> None:
    """Higher priority comes first, then the order of the file."""
    assert book(rule("a", "block"), rule("b", "block")).decide("user", NOW).rule == "a"
    assert book(rule("a", "block"), rule("b", "block", priority=1)).decide("user", NOW).rule == "b"


def test_reason_and_severity_come_from_the_deciding_rule() -> None:
    """A person reads the numbers with thousands separators; what is unknown is called so."""
    deciding = rule("a", "block", says="{model}: {used} of {limit} ({share})", alert="critical")
    verdict = book(deciding, rule("b", "warn", alert="info")).decide("user", NOW)
    assert verdict.reason == "m: 1,234,567 of unknown (0.5)"
    assert verdict.severity == "critical"


BOTH = rule("both", "block", says="{used} spent", says_zh="已用 {used}", alert="warning")


@pytest.mark.parametrize(("language", "told"), [("en", "1,234,567 spent"), ("zh", "已用 1,234,567")])
def test_alerts_have_their_own_language(language: str, told: str) -> None:
    """The decision's reason stays English, whatever language alerts have."""
    found = Rulebook.compile([BOTH], FACTS, language)
    assert isinstance(found, Rulebook)
    verdict = found.decide("user", NOW)
    assert (verdict.reason, verdict.told) == ("1,234,567 spent", told)
    assert [asked.reason for asked in verdict.asked] == [told]


def test_a_rule_with_one_sentence_says_it_in_every_language() -> None:
    """An operator need not write two."""
    found = Rulebook.compile([rule("one", "block", says="an own word")], FACTS, "zh")
    assert isinstance(found, Rulebook)
    assert found.decide("user", NOW).told == "an own word"


def test_a_failure_is_told_in_the_language_of_the_alert() -> None:
    """With the rule's name and the cause."""
    found = Rulebook.compile([replace(BOTH, when=OVERFLOW)], FACTS, "zh")
    assert isinstance(found, Rulebook)
    verdict = found.decide("user", HUGE)
    assert verdict.reason.startswith("rule both could not be evaluated")
    assert verdict.told.startswith("规则 both 无法求值")


def test_no_rule_that_holds_allows() -> None:
    """Without a rule that holds, and for a scope without rules, calls are allowed, and the verdict says why."""
    nothing = Verdict(rule="", action="allow", reason="no rule applies")
    assert book(rule("a", "block", "false")).decide("user", NOW) == nothing
    assert book().decide("tenant", {}) == nothing


@pytest.mark.parametrize("action", RESTRICTING)
def test_a_failing_rule_that_restricts_counts_as_holding(action: str) -> None:
    """A fault in a rule never opens what it was written to close. A kill would outlast the fault, so it blocks."""
    verdict = book(rule("broken", action, OVERFLOW, "all is well"), rule("fine", "allow")).decide("user", HUGE)
    assert verdict.action == ("block" if action in {"kill", "ban"} else action)
    assert verdict.rule == "broken"
    assert verdict.reason.startswith("rule broken could not be evaluated (Arithmetic overflow")
    assert [failed.split(":")[0] for failed in verdict.failed] == ["broken"]


@pytest.mark.parametrize("action", ["warn", "allow"])
def test_a_failing_rule_that_restricts_nothing_is_only_reported(action: str) -> None:
    """It neither warns nor allows, but it does not pass in silence."""
    verdict = book(rule("broken", action, OVERFLOW), rule("fine", "allow")).decide("user", HUGE)
    assert verdict.rule == "fine"
    assert verdict.failed[0].startswith("broken: Arithmetic overflow")


def test_a_kill_that_holds_is_not_softened_by_one_that_fails() -> None:
    """Of two kill rules the sound one decides."""
    verdict = book(rule("broken", "kill", OVERFLOW, priority=5), rule("sound", "kill")).decide("user", HUGE)
    assert (verdict.rule, verdict.action) == ("sound", "kill")


def test_a_missing_fact_is_a_failure_not_an_unknown_number() -> None:
    """Facts are always all there; where the program forgets one, blocking rules close and say so."""
    verdict = book(rule("a", "block", "used > limit")).decide("user", {"model": "m", "used": 1})
    assert verdict.action == "block"
    assert verdict.failed == ("a: nothing is found under 'limit'",)


def test_compile_lists_every_mistake() -> None:
    """Each mistake of each rule, with the field."""
    specs = [rule("a", "blok", "usd > 1", "{modl}"), rule("b", "warn", "used >"), rule("c", "warn")]
    found = Rulebook.compile([*specs, RuleSpec(name="d", scope="ip", when="true", action="block", says="x")], FACTS)
    assert isinstance(found, list)
    paths = [fault.path for fault in found]
    assert paths == ["rules[0].when", "rules[0].says", "rules[0].then.action", "rules[1].when", "rules[3].scope"]


def test_override_replaces_in_place() -> None:
    """A rule of the same name takes the place of the built-in; new ones follow."""
    merged = override([rule("a", "warn"), rule("b", "warn")], [rule("c", "block"), rule("a", "block")])
    assert [(spec.name, spec.action) for spec in merged] == [("a", "block"), ("b", "warn"), ("c", "block")]


rules = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.sampled_from(["true", "false", OVERFLOW, "used > limit"])), max_size=6
)


@given(rules, rules, st.sampled_from([NOW, HUGE, NOW | {"limit": 5}]))
def test_more_rules_are_never_milder(
    some: list[tuple[str, str]], more: list[tuple[str, str]], facts: dict[str, int | None]
) -> None:
    """Adding rules may close, never open, whether they hold, fail, or meet unknown numbers."""

    def strictness(chosen: list[tuple[str, str]]) -> int:
        verdict = book(*(rule(f"r{number}", *what) for number, what in enumerate(chosen))).decide("user", facts)
        return ACTIONS.index(verdict.action)

    assert strictness(some + more) <= strictness(some)
