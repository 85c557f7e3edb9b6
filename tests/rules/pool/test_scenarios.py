"""Recorded days of a simulated provider with their truth: used so far + really remaining, at each reading."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rules.pool import observe
from rules.records import Package, Reading

SCENARIOS = Path(__file__).parents[2] / "data" / "scenarios"
INSIDE = ("steady", "exhausted", "out-of-order", "residual", "expiring-live", "cold-start")


def lines(name: str) -> list[dict]:
    with gzip.open(SCENARIOS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def truths() -> dict[str, dict[str, dict]]:
    """By scenario, the truth of each reading."""
    return {path.name.split(".")[0]: _truth(path) for path in SCENARIOS.glob("*.truth.jsonl.gz")}


def _truth(path: Path) -> dict[str, dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return {found["id"]: found for found in map(json.loads, file)}


def replay(model, name: str):
    """Feed a scenario in order of arrival; yields (reading id, bounds, used so far as metered) after each reading."""
    clock = ""
    for line in lines(name):
        clock = max(clock, line["ts"])
        model.since = model.since or model.at(line["ts"])
        if line["type"] == "usage":
            model.use(line["ts"], line["total_tokens"])
            continue
        packages = tuple(
            Package(**package | {edge: model.at(package[edge]) for edge in ("effective", "expires")})
            for package in line["packages"]
        )
        at, available = model.at(line["ts"]), line["available"]
        observe(model.state, Reading(id=line["id"], at=at, model="m", available=available, packages=packages))
        model.curve.fold(at)
        yield line["id"], model.look(clock), model.metered.total


def gaps(model, name: str, truth: dict[str, dict]) -> list[tuple[int | None, int, int]]:
    """(true pool - low end, high end - true pool, true pool of the day) at each reading."""
    found = []
    for id_, bounds, total in replay(model, name):
        left = truth[id_]["remaining"]
        low = None if bounds.pool_low is None else left - (bounds.pool_low - total)
        found.append((low, bounds.pool_high - total - left, truth[id_]["pool"]))
    return found


@pytest.mark.parametrize("name", INSIDE)
def test_inside_the_assumptions_the_true_pool_is_always_between_the_ends(model, truths, name: str) -> None:
    """At every reading; and once metering has run for D the low end is never unknown."""
    found = gaps(model, name, truths[name])
    assert all(high >= 0 for _, high, _ in found)
    assert all(low >= 0 for low, _, _ in found if low is not None)
    assert sum(low is None for low, _, _ in found) <= 4


@pytest.mark.parametrize("name", INSIDE)
def test_the_low_end_is_close(model, truths, name: str) -> None:
    """Its mean distance to the true pool is under one per cent of the pool or so, as long as something is left. Once
    nothing is, nobody can know whether the last of what was used was still free, and the low end rises no more."""
    left = [truth["remaining"] > 150 for truth in truths[name].values()]
    found = zip(gaps(model, name, truths[name]), left, strict=True)
    known = [(low, pool) for (low, _, pool), some in found if low is not None and some]
    stock = max(pool for _, pool in known)
    assert sum(low for low, _ in known) / len(known) < (0.011 if name == "exhausted" else 0.01) * stock


@pytest.mark.parametrize("name", INSIDE)
def test_inside_the_assumptions_nothing_is_alarmed(model, truths, name: str) -> None:
    """Returns and listed ends are told, nothing else."""
    gaps(model, name, truths[name])
    assert set(model.kinds) <= {"arrival", "expired"}


def test_a_stall_of_three_hours_is_taken_for_what_it_is(model, truths) -> None:
    """The low end stays under the true pool, nothing is started afresh, D grows and is told."""
    found = gaps(model, "stall-3h", truths["stall-3h"])
    assert all(low is None or low >= -600 for low, _, _ in found)
    assert set(model.kinds) == {"arrival", "lag_bound_broken"}


def test_a_leak_of_five_per_cent_is_bounded_and_told(model, truths) -> None:
    """The low end is too high by a thousand tokens at most, losses are told on the first day, the share is learned."""
    found = gaps(model, "leak-5", truths["leak-5"])
    assert all(low is None or low >= -1_200 for low, _, _ in found)
    assert all(high >= 0 for _, high, _ in found)
    first = next(notice for notice in model.notices if notice.kind == "unexplained")
    assert first.at < model.at("2026-08-10T12:00:00+08:00")
    assert 0.02 <= model.bounds.share <= 0.10
