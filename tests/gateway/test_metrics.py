"""The gate's own metrics."""

from __future__ import annotations

from collections.abc import Callable

from blastdoor_gateway.config import Budget
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.link import open_redis
from blastdoor_gateway.metrics import PrometheusObserver
from prometheus_client import CollectorRegistry, generate_latest

from tests.gateway.conftest import Clock


async def test_what_happens_is_counted(url: str, guard_on: Callable[..., Guard], clock: Clock) -> None:
    """Admissions by layer and action, settlements by outcome and tokens, with a latency."""
    registry = CollectorRegistry()
    gate = guard_on(url, default=Budget(daily_tokens=100)).gate
    guard = Guard(open_redis(url, 5.0), gate, clock=clock, observer=PrometheusObserver(registry))
    admission = await guard.admit(model="m", tenant="t", estimate=60)
    await guard.admit(model="m", tenant="t", estimate=60)
    await guard.settle(admission, 40)
    await guard.settle(admission, 40)
    await guard.close()

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"blastdoor_gate_{name}", labels or None)

    assert value("admissions_total", action="proceed", layer="none", local="no") == 1
    assert value("admissions_total", action="degrade", layer="budget", local="no") == 1
    assert value("settlements_total", outcome="settled") == 1
    assert value("settlements_total", outcome="repeated") == 1
    assert value("settled_tokens_total") == 40
    assert value("admission_seconds_count") == 2


def test_a_failure_that_never_happened_is_zero() -> None:
    """Label values are there from the start; names begin alike; nothing a client writes is a label."""
    registry = CollectorRegistry()
    PrometheusObserver(registry)
    text = generate_latest(registry).decode()
    for line in (
        'redis_failures_total{cause="slow"} 0.0',
        'admissions_total{action="reject",layer="model",local="yes"} 0.0',
        'events_total{outcome="dropped"} 0.0',
        'cache_total{outcome="near"} 0.0',
        "breaker_open 0.0",
    ):
        assert f"blastdoor_gate_{line}" in text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    assert {name for name in names if not name.startswith("blastdoor_gate_")} == set()
