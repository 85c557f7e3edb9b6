"""Readings nobody would send in good faith: what is remembered of them, and what weighing them costs, is bounded."""

from __future__ import annotations

import msgspec

from rules.moment import SECOND, to_rfc3339
from rules.pool import observe
from rules.records import Package, Reading

MONTH = "2026-09-12T23:59:00+08:00"
ROW = 400_000  # bytes; brokers take a million


def packages(model, reading: int, count: int) -> list[Package]:
    return [model.package(f"pkg-{reading}-{number}", 10, 5, "09:00", MONTH) for number in range(count)]


def later(model, seconds: int) -> str:
    return to_rfc3339(model.at("10:00") + seconds * SECOND)


def test_new_packages_without_end_raise_nothing_and_cost_little(model) -> None:
    """A list with more unknown packages than a provider could return is no arrival: the high end is open."""
    model.start("06:00")
    for number in range(20):
        model.read(later(model, number), 2_500, *packages(model, number, 500))
    assert model.state.changes == []
    assert model.bounds is not None
    assert model.bounds.pool_low is not None
    assert model.bounds.pool_low <= 2_500
    assert len(msgspec.json.encode(model.state)) < ROW


def test_a_balance_that_jumps_with_every_reading_is_bounded(model) -> None:
    """Each rise is an arrival; only so many are remembered, and the low end is never above the newest balance."""
    model.start("06:00")
    for number in range(600):
        model.read(later(model, number), 1_000_000 if number % 2 else 10_000)
    assert len(model.state.changes) <= 256
    assert model.low <= 1_000_000
    assert len(msgspec.json.encode(model.state)) < ROW


def test_ever_new_sources_are_forgotten(model) -> None:
    """A poller that names itself anew with every reading leaves no more than a few names behind."""
    model.start("06:00")
    package = model.package("pkg", 600_000, 500_000, "09:00", MONTH)
    for number in range(200):
        model.read(later(model, number), 500_000, package, source=f"poller-{number}")
    assert len(model.state.lists) <= 32
    assert "poller-199" in model.state.lists


def test_readings_that_wait_do_not_outgrow_a_message(model) -> None:
    """While usage before them is missing, the newest readings wait, however long their lists."""
    for number in range(60):
        listed = tuple(packages(model, number, 500))
        at = model.at("10:00") + number
        observe(model.state, Reading(id=f"r{number}", at=at, model="m", available=2_500, packages=listed))
    assert model.state.pending[-1].id == "r59"
    assert len(msgspec.json.encode(model.state)) < ROW
