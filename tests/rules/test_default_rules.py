"""The built-in rules: each state of a model and the decision it gets."""

from __future__ import annotations

import re

import pytest

from rules.documented import SCOPE_FACTS
from rules.model_facts import MODEL_FACTS, model_facts
from rules.rulebook import Rulebook
from rules.saying import Saying
from rules.scope_facts import FactValue
from streams.policy_file import default_rules

KINDS = {"string": str, "int": int, "double": float, "bool": bool}


def facts(**changes: object) -> dict[str, FactValue]:
    usual: dict[str, object] = {
        "model": "deepseek-v4-flash",
        "day": "2026-08-13",
        "used": 665_268,
        "limit": 1_990_000,
        "wall": "pool",
        "pool_low": 2_000_000,
        "pool_high": 2_000_700,
        "charged_low": 0,
        "charged_high": 0,
        "complete": True,
        "lag_seconds": 840,
        "lag_bound_seconds": 1800,
        "stale": False,
        "reading_age_seconds": 61,
        "unknown_mode": "close",
    }
    return model_facts(**usual | changes)  # type: ignore[arg-type]


UNKNOWN = {
    "limit": None, "wall": "", "pool_low": None, "pool_high": None, "charged_low": None, "charged_high": None,
    "lag_seconds": None, "reading_age_seconds": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def book() -> Rulebook:
    found = Rulebook.compile(default_rules(), SCOPE_FACTS)
    assert isinstance(found, Rulebook), found
    return found


SPENT = {"used": 1_990_000}
STALE = {"stale": True}
HOLD = {"unknown_mode": "hold"}
STATES = [
    pytest.param({}, "model-within-limit", "allow", None, id="plenty left"),
    pytest.param({"used": 1_592_000}, "model-near-limit", "warn", None, id="exactly 80 %"),
    pytest.param({"used": 1_591_999}, "model-within-limit", "allow", None, id="a token before 80 %"),
    pytest.param({"used": 1_989_999}, "model-near-limit", "warn", None, id="the last token before the limit"),
    pytest.param(SPENT, "model-pool-spent", "block", "critical", id="exactly the limit is spent"),
    pytest.param(SPENT | {"wall": ""}, "model-pool-spent", "block", "critical", id="a wall without a name"),
    pytest.param({"used": 0, "limit": 0}, "model-pool-spent", "block", "critical", id="an empty pool"),
    pytest.param({"used": 0, "limit": -10}, "model-pool-spent", "block", "critical", id="a pool below the buffer"),
    pytest.param(SPENT | {"wall": "cap"}, "model-cap-reached", "block", "warning", id="the cap"),
    pytest.param(UNKNOWN, "model-limit-unknown", "unknown", None, id="cold start"),
    pytest.param(UNKNOWN | HOLD, "model-limit-unknown", "unknown", None, id="nothing to hold"),
    pytest.param(UNKNOWN | STALE, "model-readings-stale", "unknown", None, id="unknown since readings are stale"),
    pytest.param(UNKNOWN | STALE | HOLD, "model-limit-unknown", "unknown", None, id="stale, nothing to hold"),
    pytest.param(STALE, "model-readings-stale", "unknown", None, id="stale, to be closed"),
    pytest.param(STALE | HOLD, "model-limit-held", "warn", None, id="stale, to be held"),
    pytest.param(STALE | SPENT, "model-pool-spent", "block", "critical", id="stale and spent"),
    pytest.param(STALE | HOLD | SPENT, "model-pool-spent", "block", "critical", id="held and spent"),
]


@pytest.mark.parametrize(("changes", "rule", "action", "severity"), STATES)
def test_states(book: Rulebook, changes: dict[str, object], rule: str, action: str, severity: str | None) -> None:
    """Every state of a model has one rule that decides it, and none fails."""
    verdict = book.decide("model", facts(**changes))
    assert (verdict.rule, verdict.action, verdict.severity, verdict.failed) == (rule, action, severity, ())


def test_the_reason_names_the_wall(book: Rulebook) -> None:
    """A person reads at once whether the pool or the cap bit, and with what numbers."""
    spent = book.decide("model", facts(used=1_990_000)).reason
    assert spent == "free pool of deepseek-v4-flash is used up to the safety buffer (1,990,000/1,990,000)"
    capped = book.decide("model", facts(used=2_000_000, limit=2_000_000, wall="cap")).reason
    assert "no-return wall" in capped


def test_every_built_in_rule_speaks_both_languages() -> None:
    """With the same facts in both sentences, and no word of English in the Chinese one."""
    for rule in default_rules():
        en, zh = Saying.parse(rule.says), Saying.parse(rule.says_zh, "zh")
        assert set(en.names()) == set(zh.names()), rule.name
        assert not re.search("[a-zA-Z]", "".join(piece.text for piece in zh.pieces)), rule.name


def test_the_table_describes_what_the_judge_fills_in() -> None:
    """Every documented fact is there, in the order and of the type of the table; only nullable ones may be unknown."""
    known, unknown = facts(), facts(**UNKNOWN)
    assert sorted(known) == sorted(spec.name for spec in MODEL_FACTS)
    for spec in MODEL_FACTS:
        assert type(known[spec.name]) is KINDS[spec.kind], spec.name
        assert all(type(sample) is KINDS[spec.kind] for sample in spec.samples), spec.name
        assert (unknown[spec.name] is None) == spec.nullable, spec.name


def test_share_is_defined_everywhere() -> None:
    """Unknown is 0 (it warns nobody), and a limit of nothing is used up."""
    assert [facts(used=8, limit=limit)["share"] for limit in (10, 0, -1, None)] == [0.8, 1.0, 1.0, 0.0]
