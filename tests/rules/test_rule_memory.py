"""Rules that remember: `for`, `clear`, `keep_firing_for`, bans, trials, and what a failing rule is taken for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.moment import MINUTE, Millis
from rules.policy import RuleSpec
from rules.rule_memory import Held, advance
from rules.rulebook import Rulebook, Verdict
from rules.scope_facts import text, whole

FACTS = {"model": (text("model", "name", "m"), whole("used", "tokens"))}
START: Millis = 1_786_590_000_000
OVERFLOW = "used + used > 0"
HUGE = 2**62


def book(**terms: Any) -> Rulebook:
    """One rule over 100 tokens that blocks, with these terms."""
    spec = RuleSpec(**({"name": "r", "scope": "model", "when": "used > 100", "action": "block", "says": "x"} | terms))
    found = Rulebook.compile([spec], FACTS)
    assert isinstance(found, Rulebook), found
    return found


def story(rules: Rulebook, *told: tuple[float, int], restarts: bool = False) -> list[str]:
    """The action at each (minute, used)."""
    memory: dict[str, Held] = {}
    found = []
    for minute, used in told:
        verdict = rules.decide("model", {"model": "m", "used": used}, memory, START + round(minute * MINUTE))
        memory = verdict.memory
        if restarts:
            memory = msgspec.json.decode(msgspec.json.encode(memory), type=dict[str, Held])
        found.append(verdict.action)
    return found


def test_for_waits_until_the_condition_has_held_that_long() -> None:
    """At exactly that time it fires; a moment without the condition begins it anew; it ends at once."""
    rules = book(lasting=2 * MINUTE)
    told = [(0, 101), (1.9, 101), (2, 101), (2.1, 100), (3, 101), (4, 100), (5, 101), (6.9, 101), (7, 101)]
    assert story(rules, *told) == ["allow", "allow", "block", "allow", "allow", "allow", "allow", "allow", "block"]


def test_clear_is_a_second_threshold() -> None:
    """Between the two it stays as it was."""
    rules = book(clear="used < 50")
    told = [(0, 80), (1, 101), (2, 80), (3, 50), (4, 49), (5, 80)]
    assert story(rules, *told) == ["allow", "block", "block", "block", "allow", "allow"]


def test_keep_firing_for_outlasts_the_condition() -> None:
    """Counted from when the end began; the condition within that time begins it anew."""
    rules = book(keep_firing_for=3 * MINUTE)
    told = [(0, 101), (1, 0), (3.9, 0), (3.95, 101), (4, 0), (6.9, 0), (7, 0)]
    assert story(rules, *told) == ["block", "block", "block", "block", "block", "block", "allow"]


def test_a_ban_lasts_from_when_it_fired() -> None:
    """Whatever the condition says meanwhile; at its end it is laid anew only if the condition holds."""
    rules = book(ban_for=10 * MINUTE)
    told = [(0, 101), (1, 0), (9.9, 0), (10, 0), (11, 101), (20, 101), (21, 101), (30.9, 0), (31, 0)]
    assert story(rules, *told) == [*["block"] * 3, "allow", *["block"] * 4, "allow"]


def test_a_ban_says_when_it_ends() -> None:
    """The decision ends by itself then."""
    verdict = book(ban_for=10 * MINUTE).decide("model", {"model": "m", "used": 101}, {}, START)
    assert verdict.until == START + 10 * MINUTE


TOLD = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20)
TERMS = st.fixed_dictionaries(
    {},
    optional={
        "lasting": st.sampled_from([MINUTE, 2 * MINUTE]),
        "clear": st.just("used < 50"),
        "keep_firing_for": st.sampled_from([MINUTE, 3 * MINUTE]),
        "ban_for": st.just(4 * MINUTE),
    },
)


@given(TERMS, TOLD)
def test_a_restart_at_any_time_changes_nothing(terms: dict[str, Any], told: list[tuple[int, int]]) -> None:
    """What is remembered is stored whole, and looking twice at one instant is looking once."""
    minute, looks = 0, []
    for pause, level in told:
        minute += pause
        looks.append((float(minute), (0, 80, 101)[level]))
    rules = book(**terms)
    assert story(rules, *looks) == story(rules, *looks, restarts=True)
    twice = [look for look in looks for _ in range(2)]
    assert story(rules, *twice)[1::2] == story(rules, *looks)


@given(TERMS, TOLD)
def test_time_alone_changes_nothing_before_the_book_wakes(terms: dict[str, Any], told: list[tuple[int, int]]) -> None:
    """A scope that is silent may sleep until then."""
    rules = book(**terms)
    memory: dict[str, Held] = {}
    now = START
    for pause, level in told:
        now += pause * MINUTE
        facts = {"model": "m", "used": (0, 80, 101)[level]}
        verdict = rules.decide("model", facts, memory, now)
        memory = verdict.memory
        wakes = rules.wakes("model", memory)
        later = now + 100 * MINUTE if wakes is None else wakes - 1
        if later > now:
            again = rules.decide("model", facts, memory, later)
            assert (again.action, again.rule) == (verdict.action, verdict.rule)


def test_a_rule_without_such_terms_remembers_nothing() -> None:
    """Thousands of scopes store nothing for it."""
    assert book().decide("model", {"model": "m", "used": 101}, {}, START).memory == {}
    assert advance(book().rules["model"][0].spec, None, START, holds=False, ends=True) is None


def test_a_rule_under_trial_binds_nobody() -> None:
    """It is asked with its memory as any other, and says what it would have done; no alert asks for people."""
    verdict = book(dry_run=True, alert="critical").decide("model", {"model": "m", "used": 101}, {}, START)
    assert (verdict.action, verdict.fired, verdict.asked) == ("allow", (), ())
    assert [(would.rule, would.action, would.reason) for would in verdict.would] == [("r", "block", "x")]
    waiting = book(dry_run=True, lasting=MINUTE).decide("model", {"model": "m", "used": 101}, {}, START)
    assert (waiting.would, list(waiting.memory)) == ((), ["r"])


def failing(**terms: Any) -> Verdict:
    return book(when=OVERFLOW, **terms).decide("model", {"model": "m", "used": HUGE}, {}, START)


@pytest.mark.parametrize(
    ("action", "on_error", "taken"),
    [
        ("block", None, "block"), ("kill", None, "block"), ("degrade", None, "degrade"), ("warn", None, "allow"),
        ("block", "ignore", "allow"), ("block", "warn", "warn"), ("warn", "block", "block"), ("kill", "warn", "warn"),
    ],
)  # fmt: skip
def test_a_failing_rule_is_taken_for_what_it_says(action: str, on_error: str | None, taken: str) -> None:
    """Without a word of its own it falls closed where it restricts calls; it is named in every case."""
    verdict = failing(action=action, on_error=on_error)
    assert verdict.action == taken
    assert verdict.failed == ("r: too large a number",) or verdict.failed[0].startswith("r: ")
    if taken != "allow":
        assert "could not be evaluated" in verdict.reason


def test_a_failure_forgets_nothing() -> None:
    """A ban goes on while its rule fails, also where failures are ignored, and ends in time all the same."""
    rules = book(ban_for=10 * MINUTE, when="used + used > 200", on_error="ignore")
    assert story(rules, (0, 101), (1, HUGE), (2, 0), (10, HUGE)) == ["block", "block", "block", "allow"]


def test_an_end_that_fails_has_not_come() -> None:
    """It is reported, and the rule goes on."""
    rules = book(clear=OVERFLOW, when="used > 100 && used < 200")
    held = rules.decide("model", {"model": "m", "used": 101}, {}, START).memory
    verdict = rules.decide("model", {"model": "m", "used": HUGE}, held, START + 1)
    assert (verdict.action, verdict.failed[0].startswith("r: clear: ")) == ("block", True)


def test_names_in_clear_are_checked() -> None:
    """As those of the condition are."""
    spec = RuleSpec(name="r", scope="model", when="true", action="block", says="x", clear="uzed < 1")
    found = Rulebook.compile([spec], FACTS)
    assert isinstance(found, list)
    assert [(fault.path, fault.message) for fault in found] == [
        ("rules[0].clear", "there is no fact 'uzed'; did you mean 'used'?")
    ]
