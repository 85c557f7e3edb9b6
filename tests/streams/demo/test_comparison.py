"""The numbers of the comparison, and that it notices what came otherwise."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from blastdoor_gateway.contract import Action, Decision

from streams.demo.comparison import ASIDE, Row, Verdict, differences
from tests.streams.demo.conftest import ZONE

if TYPE_CHECKING:
    from streams.demo.findings import Expected
    from streams.demo.recordings import Recordings


def test_both_recordings_are_read_whole(recordings: Recordings) -> None:
    """Five readings, 382 calls and one refusal, with the clock going forward to the last of them."""
    assert (len(recordings.readings), len(recordings.usage), len(recordings.refusals)) == (5, 382, 1)
    assert list(recordings.ticks) == sorted(set(recordings.ticks))
    assert recordings.end == recordings.readings[-1].at
    assert {reading.at for reading in recordings.readings} <= set(recordings.ticks)


def test_v6_takes_unsettled_usage_for_free_tokens(rows: list[Row]) -> None:
    """Its pool is too high by what the provider had not settled yet."""
    assert [row.believed for row in rows] == [2_800_128, 2_293_004, 2_242_178, 2_757_715, 2_391_794]
    assert [row.too_high for row in rows] == [507_124, 0, 0, 515_537, 149_616]
    assert [row.v6.charged for row in rows] == [457_124, 0, 0, 465_537, 99_616]


def test_v4_blocks_while_free_tokens_are_left(rows: list[Row]) -> None:
    """Once, on the afternoon of the first day."""
    assert [row.v4.blocks_wrongly(row.used) for row in rows] == [False, True, False, False, False]
    assert rows[1].v4.limit == 296_869


def test_our_bounds_hold_the_truth(rows: list[Row]) -> None:
    """At every reading, at most 700 tokens apart where the provider had caught up, and nothing is charged."""
    assert all(row.holds for row in rows)
    assert [row.ours.charged for row in rows] == [0] * 5
    widths = [(row.decision.pool_high or 0) - (row.decision.pool_low or 0) for row in rows]
    assert all(width <= 700 for width in widths[1:])


def test_the_lag_is_told_as_it_is_known(rows: list[Row]) -> None:
    """As at most the bound, as nothing to speak of, or in minutes."""
    assert [row.lag_minutes for row in rows] == ["≤ 30", "settled", "settled", "17.5", "14.0"]


def test_a_truth_outside_the_bounds_is_noticed(rows: list[Row]) -> None:
    """Also where a bound is unknown."""
    low, high = rows[0].decision.pool_low, rows[0].decision.pool_high
    assert low is not None
    assert high is not None
    assert [replace(rows[0], truth=truth).holds for truth in (low - 1, low, high, high + 1)] == [
        False, True, True, False,
    ]  # fmt: skip
    assert not replace(rows[0], decision=replace(rows[0].decision, pool_low=None)).holds


@pytest.mark.parametrize(("limit", "charged"), [(None, 0), (99, 0), (100, 0), (101, 1)])
def test_only_what_is_beyond_the_pool_is_charged(limit: int | None, charged: int) -> None:
    """A limit up to the true pool costs nothing."""
    assert Verdict(limit=limit, blocks=False, truth=100).charged == charged


def test_the_same_decision_is_no_difference(expected: Expected, decisions: list[Decision]) -> None:
    """Whatever its version is: that differs from run to run."""
    for replayed, decision in zip(expected.replayed, decisions, strict=True):
        assert differences(replayed, replace(decision, version=(9, 9)), ZONE) == []


COMPARED = [field.name for field in fields(Decision) if field.name != "version" and field.name not in ASIDE]


@pytest.mark.parametrize("name", COMPARED)
def test_a_difference_in_any_field_is_told(expected: Expected, decisions: list[Decision], name: str) -> None:
    """By the field's name (of a mapping with the entry's), with both values."""
    others: dict[str, Any] = {"action": Action.KILL, "complete": False, "counted_gate": {"2026-08-13": 1}}
    other = replace(decisions[-1], **{name: others.get(name, "other")})
    (told,) = differences(expected.replayed[-1], other, ZONE)
    assert told.startswith((f"{name}: ", f"{name}."))
    assert "by replay" in told


def test_of_a_mapping_only_what_differs_is_told(expected: Expected, decisions: list[Decision]) -> None:
    """And no value in more than a line."""
    other = replace(decisions[-1], counted_gate={**decisions[-1].counted_gate, "2026-08-13": 1}, reason="x" * 500)
    told = differences(expected.replayed[-1], other, ZONE)
    assert "counted_gate.2026-08-13: 1 by Kafka, nothing by replay" in told
    assert max(map(len, told)) < 250


def test_a_decision_that_did_not_come_is_told(expected: Expected) -> None:
    """Silence is a difference, too."""
    assert differences(expected.replayed[0], None, ZONE) == ["no decision came by Kafka"]
