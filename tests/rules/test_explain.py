"""An explanation is a function of the decision, its grounds and the rules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rules.condition import Condition
from rules.explain import Decided, explain
from rules.grounds import Grounds, LagBound, Moved, Part, Remembered, Said, Terms
from rules.model_facts import model_facts
from rules.policy import RuleSpec
from rules.pool_state import Cause
from rules.rulebook import Rule, Rulebook
from rules.saying import Saying

RULES = (
    RuleSpec(name="spent", scope="model", when="limit_known && used >= limit", action="block", says="spent"),
    RuleSpec(name="odd", scope="model", when="1 / used > 0", action="degrade", says="odd"),
    RuleSpec(name="fine", scope="model", when="true", action="allow", says="fine"),
)
FACTS: dict[str, Any] = {
    "model": "m", "day": "2026-08-13", "used": 100_000, "limit": 490_000, "wall": "pool", "pool_low": 500_000,
    "pool_high": 500_300, "charged_low": 0, "charged_high": 0, "complete": True, "lag_seconds": None,
    "lag_bound_seconds": 1800.0, "stale": False, "reading_age_seconds": 60.0, "unknown_mode": "close",
}  # fmt: skip
LOW = Said(id="r1", at=1_000, balance=500_000, by=900, settled=150, used=40_000, parts=(Part.LOW,))
HIGH = Said(id="r2", at=2_000, balance=400_000, by=1_900, settled=50_000, used=100_150, parts=(Part.HIGH, Part.LATEST))
GROUNDS = Grounds(
    terms=Terms(daily_cap=2_000_000, small_buffer=10_000, unknown="close"),
    lag=LagBound(bound=1_800_000, usual=1_800_000),
    when="true",
    readings=(LOW, HIGH),
    balance=400_000,
    usage=100_000,
)


@pytest.fixture
def rulebook() -> Rulebook:
    """Not checked as a policy's rules are: `odd` fails where nothing is used."""
    return Rulebook(Rule(spec, compiled(spec.when), Saying.parse(spec.says)) for spec in RULES)


def compiled(source: str) -> Condition:
    condition = Condition.compile(source)
    assert isinstance(condition, Condition)
    return condition


def decide(grounds: Grounds | None = GROUNDS, **facts: Any) -> Decided:
    return Decided(
        scope="model:m", at=3_000, until=None, action="allow", rule="fine", reason="fine", formula="interval",
        policy="p1", version=(1, 1), origin="t/0/1", facts=model_facts(**FACTS | facts), grounds=grounds,
    )  # fmt: skip


def test_the_ends_add_up(rulebook: Rulebook) -> None:
    """What the reading says, less or plus the allowance, is the published end."""
    found = explain(decide(), rulebook, "p1")
    assert found.low is not None
    assert found.high is not None
    assert (found.low.giver.id, found.low.raw, found.low.allowance, found.low.value) == ("r1", 500_150, 150, 500_000)
    assert (found.high.giver.id, found.high.raw, found.high.allowance) == ("r2", 500_150, 150)
    assert not found.low.crossed


def test_where_the_ends_cross_the_high_one_rules(rulebook: Rulebook) -> None:
    """The low end is no higher, and the explanation says so."""
    crossed = replace(GROUNDS, readings=(replace(LOW, settled=250), HIGH))
    found = explain(decide(crossed), rulebook, "p1").low
    assert found is not None
    assert found.crossed
    assert (found.raw, found.allowance) == (500_250, 150)


def test_a_remembered_high_end_is_the_giver(rulebook: Rulebook) -> None:
    """Its reading is gone; the number is not."""
    kept = Remembered(id="r0", at=10, high=500_150)
    found = explain(decide(replace(GROUNDS, remembered=kept, readings=(LOW,))), rulebook, "p1")
    assert found.high is not None
    assert found.high.giver == kept
    assert found.steps[0].what == kept


def test_every_rule_is_asked_again(rulebook: Rulebook) -> None:
    """Strictest first; one that restricts and cannot be evaluated holds."""
    found = explain(decide(used=0), rulebook, "p1")
    assert [(rule.name, rule.holds) for rule in found.asked] == [("spent", False), ("odd", True), ("fine", True)]


def test_rules_of_another_policy_are_not_asked(rulebook: Rulebook) -> None:
    """They may say something else now; the condition that decided travels with the decision."""
    found = explain(decide(), rulebook, "p2")
    assert not found.same_policy
    assert all(rule.holds is None for rule in found.asked)
    assert found.when == "true"
    assert explain(decide(grounds=None), rulebook, "p2").when == ""


def test_the_walls_show_which_one_bites(rulebook: Rulebook) -> None:
    """The formula's sum and the cap beside each other."""
    formula, cap = explain(decide(), rulebook, "p1").walls
    assert (formula.name, formula.sum, formula.tokens, formula.bites) == (
        "interval", "500,000 - 10,000", 490_000, True,
    )  # fmt: skip
    assert (cap.name, cap.tokens, cap.bites) == ("cap", 2_000_000, False)


def test_a_formula_that_is_no_longer_known_leaves_the_cap(rulebook: Rulebook) -> None:
    """A later version may have dropped it."""
    found = explain(replace(decide(), formula="v99"), rulebook, "p1")
    assert [wall.name for wall in found.walls] == ["cap"]


def test_other_formulas_say_what_they_would_have_done(rulebook: Rulebook) -> None:
    """Refusing while tokens are free, and lying in the charged zone, are told with their size."""
    others = {other.name: other for other in explain(decide(used=150_000), rulebook, "p1").others}
    assert "interval" not in others
    assert (others["v4"].limit, others["v4"].refuses, others["v4"].left) == (100_000, True, 350_000)
    assert (others["v3"].limit, others["v3"].refuses) == (None, True)
    high = {other.name: other for other in explain(decide(pool_high=440_000), rulebook, "p1").others}
    assert (high["v6"].raw, high["v6"].beyond, high["v6"].refuses) == (450_000, 10_000, False)


def test_steps_are_in_order_of_time(rulebook: Rulebook) -> None:
    """Readings by when they were taken, a calibration by when it was given, changes and a learned lag between them."""
    given = Said(id="c1", at=0, balance=1, by=0, settled=0, used=0, entered=1_500, exact=True)
    rise = Moved(cause=Cause.RISE, at=1_700, low=1, high=2)
    grounds = replace(GROUNDS, readings=(given, LOW, HIGH), moves=(rise,), lag=LagBound(bound=2, usual=1, at=1_600))
    found = explain(decide(grounds), rulebook, "p1").steps
    assert [step.at for step in found] == [1_000, 1_500, 1_600, 1_700, 2_000]


def test_an_unknown_pool_has_no_ends(rulebook: Rulebook) -> None:
    """Nothing is made up where nothing is known."""
    unknown = replace(GROUNDS, readings=(replace(HIGH, parts=(Part.EARLY, Part.LATEST)),), why="no reading yet")
    found = explain(decide(unknown, pool_low=None, pool_high=None, limit=None, wall=""), rulebook, "p1")
    assert found.low is None
    assert found.high is None
    assert [wall.tokens for wall in found.walls] == [None, 2_000_000]
