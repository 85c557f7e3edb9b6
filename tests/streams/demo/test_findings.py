"""The demo's check of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from streams.demo.findings import faults, of_redis
from streams.demo.gate import Sight
from streams.demo.witness import Witness
from tests.streams.demo.conftest import ZONE

if TYPE_CHECKING:
    from blastdoor_gateway.contract import Decision

    from streams.demo.findings import Expected, Findings


@pytest.fixture
def witness(decisions: list[Decision]) -> Witness:
    """Has seen every decision, each once more under an older version with other numbers."""
    found = Witness(decisions[0].scope, lambda _: None)
    for decision in decisions:
        found.take(replace(decision, version=(1, 1), used=0))
        found.take(decision)
    return found


def sight(balance: int | None, usage: int | None, counted: int) -> Sight:
    return Sight(prefix="", keys=("b", "u", "d"), balance=balance, usage_at_sync=usage, counted=counted)


def test_a_good_performance_has_no_fault(expected: Expected, witness: Witness, findings: Findings) -> None:
    """Decisions and alerts are those of the replay, and the bounds hold."""
    assert list(faults(expected, witness, findings.rows, findings.arrivals, ZONE)) == []


def test_a_missing_decision_is_a_fault(expected: Expected, findings: Findings) -> None:
    """For each reading."""
    nobody = Witness("model:other", lambda _: None)
    nobody.take(findings.stored)
    told = list(faults(expected, nobody, findings.rows, findings.arrivals, ZONE))
    assert len(told) == 5
    assert all("no decision came" in each for each in told)


@pytest.mark.parametrize("change", ["one missing", "one twice"])
def test_each_alert_must_come_once(expected: Expected, witness: Witness, findings: Findings, change: str) -> None:
    """By each channel; the fault names the channel."""
    first, *others = findings.arrivals
    arrivals = others if change == "one missing" else [first, *findings.arrivals]
    (told,) = faults(expected, witness, findings.rows, arrivals, ZONE)
    assert told.startswith("feishu-main: ")


def test_bounds_without_the_truth_are_a_fault(expected: Expected, witness: Witness, findings: Findings) -> None:
    """Whatever the replay says."""
    rows = [replace(findings.rows[0], truth=1), *findings.rows[1:]]
    (told,) = faults(expected, witness, rows, findings.arrivals, ZONE)
    assert "not within the bounds" in told


def test_the_witness_knows_what_held(witness: Witness, findings: Findings) -> None:
    """Between two readings the decision on the first; before the first, none."""
    first, second = findings.rows[:2]
    assert witness.at(second.at - 1) == first.decision
    assert witness.at(second.at) == second.decision
    assert witness.at(first.at - 1) is None


def test_redis_may_only_differ_in_version(findings: Findings) -> None:
    """Rulings that change nothing are counted, too, but reach no topic."""
    last, gate = findings.stored, findings.sight
    assert list(of_redis(replace(last, version=(last.version[0], 99)), last, gate)) == []
    (told,) = of_redis(replace(last, used=1_999_999), last, sight(0, 0, 0))
    assert told.endswith("what differs: used")


def test_a_gate_must_not_get_further_than_the_decision(findings: Findings) -> None:
    """To the token."""
    last = findings.stored
    assert (last.limit, last.used) == (2_000_000, 665_268)
    assert list(of_redis(last, last, sight(1_726_526, 323_474, 665_268))) == []
    assert len(list(of_redis(last, last, sight(1_726_526, 323_474, 665_267)))) == 1


@pytest.mark.parametrize(("balance", "usage"), [(None, None), (0, 0), (None, 40_000)])
def test_a_gate_without_numbers_refuses(balance: int | None, usage: int | None) -> None:
    """A missing key counts as 0."""
    assert sight(balance, usage, 0).left == 0
