"""What a script reads: the same numbers, by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.explaining.document import document
from tests.streams.explaining.golden import SECOND, ZONE, explanation


def told(kind: str) -> Any:
    """The object as a script gets it."""
    return json.loads(json.dumps(document(explanation(kind), ZONE)))


def test_the_readings_and_numbers_of_the_incident_are_named() -> None:
    """11:22: 2,241,913 is what the reading of 11:08 said, with nothing used by 10:38, less 150; 2,242,328 is the one of
    00:10, plus 150. Both stand where the log says."""
    found = told("cap")
    low, high = found["pool"]["low"], found["pool"]["high"]
    assert (low["value"], low["says"], low["allowance"]) == (2_241_913, 2_242_063, 150)
    assert (high["value"], high["says"], high["allowance"]) == (2_242_328, 2_242_178, 150)
    steps = {step["id"]: step for step in found["steps"] if step["kind"] == "reading"}
    first, second = steps[low["reading"]], steps[high["reading"]]
    assert (first["taken_at"], first["balance"], first["settled"]) == ("2026-08-13T11:08:00.000+08:00", 2_242_063, 0)
    assert first["settled_by"] == "2026-08-13T10:38:00.000+08:00"
    assert (second["taken_at"], second["balance"], second["used"]) == ("2026-08-13T00:10:00.000+08:00", 2_242_178, 0)
    assert first["origin"] == f"{SECOND}:93"
    assert second["origin"] == f"{SECOND}:1"
    newest = steps["log-0c456bfd072f5669d4ac391e39a11449"]
    assert (newest["balance"], newest["settled"], newest["low"]) == (1_726_526, 115, 1_726_641)
    assert newest["parts"] == ["latest"]


def test_the_false_block_is_explained() -> None:
    """15:09:51: v4 refuses at 296,869 although 596,719 tokens are free; the gate's own refusal stands beside it."""
    found = told("false-block")
    v4 = next(formula for formula in found["formulas"] if formula["name"] == "v4")
    assert (v4["sum"], v4["limit"]) == ("596,869 - 300,000", 296_869)
    assert v4["refuses"]
    assert v4["left"] == 596_719
    refusal = next(step for step in found["steps"] if step["kind"] == "refusal")
    assert (refusal["usage"], refusal["reserve"], refusal["limit"]) == (1_696_135, 16, 296_869)
    assert found["action"] == "warn"


def test_the_wall_that_bites_is_marked() -> None:
    """The cap in the incident, the pool where it is spent."""
    for kind, name in (("cap", "cap"), ("spent", "interval")):
        walls = told(kind)["limit"]["walls"]
        assert [wall["name"] for wall in walls if wall["bites"]] == [name]


def test_what_v6_would_have_let_through_is_told() -> None:
    """Its limit of 2,341,794 lies 99,466 tokens beyond the pool; only the cap keeps it out."""
    v6 = next(formula for formula in told("cap")["formulas"] if formula["name"] == "v6")
    assert (v6["raw"], v6["limit"], v6["beyond"]) == (2_341_794, 2_000_000, 99_466)


def test_the_books_of_the_day_are_told() -> None:
    """The incident's second day: what the evening left, what came back, what was used, what is left, at both ends."""
    found = told("cap")
    ledger, ahead = found["ledger"], found["outlook"]
    assert ledger["opening"] == ledger["carried"] == [596_719, 597_019]
    assert (ledger["used"], ledger["returns"], ledger["meets"]) == (665_268, [1_645_309, 1_645_309], True)
    assert (ahead["expected_return"], ahead["returned"], ahead["overdue"]) == (1_696_135, 1_645_309, False)
    assert told("stale")["ledger"] is None


@pytest.mark.parametrize(("kind", "step"), [("loss", "change"), ("expiry", "expired"), ("lag-learned", "lag_bound")])
def test_what_happened_to_the_pool_is_a_step(kind: str, step: str) -> None:
    """Arrivals, losses, ends of packages and a longer lag bound, in order of time."""
    steps = told(kind)["steps"]
    assert step in {found["kind"] for found in steps}
    assert [found["at"] for found in steps] == sorted(found["at"] for found in steps)


def test_an_unknown_limit_says_why() -> None:
    """Its number is null, and a sentence says what is missing."""
    found = told("cold-start")
    assert found["limit"]["tokens"] is None
    assert found["why_unknown"] == "metering has not run for the lag bound yet"
    assert all(step["low"] is None for step in found["steps"])


def test_a_calibration_is_no_reading() -> None:
    """It is told as what an operator gave, and when."""
    steps = told("calibration")["steps"]
    assert [step["kind"] for step in steps] == ["reading", "calibration"]
    assert steps[1]["at"] == "2026-08-13T09:30:00.000+08:00"
    assert steps[1]["exact"]


def test_every_rule_answers() -> None:
    """Strictest first, with its condition, and whether it held."""
    rules = told("false-block")["rules"]
    held = [rule["name"] for rule in rules if rule["holds"]]
    assert held == ["model-near-limit", "model-within-limit"]
    assert all(rule["when"] for rule in rules)
