"""What a run is to show is held against what it found."""

from __future__ import annotations

from bench.rows import Row
from bench.targets import targets

ROWS = [
    Row(name="bare aiokafka", rate=400_000.0),
    Row(name="workload A", rate=260_000.0),
    Row(name="workload B", rate=60_000.0),
    Row(name="4,000/s", rate=4_000.0, p99_ms=150.0),
]


def test_a_bound_is_met_or_missed() -> None:
    """0.65 is enough where 0.65 is asked; a latency of just the bound is too long."""
    found = {target.what: target.met for target in targets(ROWS, latency=True)}
    assert found == {
        "workload A / bare aiokafka": True,
        "workload B / bare aiokafka": False,
        "4,000/s: event → key, p99 ms": False,
    }


def test_latency_is_asked_of_a_real_broker_alone() -> None:
    """The embedded broker looks for records when it is asked, so its latency is told and not judged."""
    assert {target.what for target in targets(ROWS, latency=False)} == {
        "workload A / bare aiokafka",
        "workload B / bare aiokafka",
    }
