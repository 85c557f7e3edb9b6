"""Gauges over names that anybody can make up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from streams.bounded_gauges import OneOf, Tally, TopTenants

PLACES = 3
STEPS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 1_000), st.booleans()), max_size=60)


def gauge(*labels: str) -> Gauge:
    return Gauge("g", "G.", labels, registry=CollectorRegistry())


def shown(found: Gauge) -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for family in found.collect() for sample in family.samples}


@given(STEPS)
def test_only_the_largest_are_shown(steps: list[tuple[str, int, bool]]) -> None:
    """Never more than there are places, each with its newest number; usage that only grows shows the largest."""
    used_gauge, limit_gauge = gauge("tenant"), gauge("tenant")
    top = TopTenants(used_gauge, limit_gauge, PLACES)
    used: dict[str, int] = {}
    for tenant, more, limited in steps:
        used[tenant] = used.get(tenant, 0) + more
        top.put(tenant, used[tenant], 9 if limited else None)
        seen = shown(used_gauge)
        assert len(seen) <= PLACES
        assert all(value == used[name] for (name,), value in seen.items())
        assert shown(limit_gauge).keys() <= seen.keys()
        largest = sorted(used.values(), reverse=True)[: len(seen)]
        assert sorted(seen.values(), reverse=True) == largest


def test_a_tenant_leaves_with_its_limit() -> None:
    """Who makes room, and who is another worker's now, is absent."""
    used, limit = gauge("tenant"), gauge("tenant")
    top = TopTenants(used, limit, places=1)
    top.put("small", 1, 10)
    top.put("large", 2, None)
    assert (shown(used), shown(limit)) == ({("large",): 2}, {})
    top.drop("large")
    assert shown(used) == {}
    top.put("small", 1, 10)
    assert shown(limit) == {("small",): 10}


def test_one_value_holds_at_a_time() -> None:
    """The one before is gone, not zero."""
    found = gauge("model", "rule")
    holds = OneOf(found)
    for rule in ("first", "second", "second"):
        holds.put("m", rule)
    assert shown(found) == {("m", "second"): 1}
    holds.drop("m")
    holds.drop("m")
    assert shown(found) == {}


@given(
    st.lists(st.tuples(st.sampled_from(["model:a", "model:b", "tenant:a", "global"]), st.sampled_from(["", *"xyz"])))
)
def test_every_scope_counts_once(steps: list[tuple[str, str]]) -> None:
    """By the action in force; a scope that is dropped counts no more."""
    found = gauge("kind", "action")
    tally = Tally(found)
    held: dict[str, str] = {}
    for scope, action in steps:
        if action:
            tally.put(scope, action)
            held[scope] = action
        else:
            tally.drop(scope)
            held.pop(scope, None)
    wanted: dict[tuple[str, str], float] = {}
    for scope, action in held.items():
        place = scope.partition(":")[0], action
        wanted[place] = wanted.get(place, 0) + 1
    assert {place: value for place, value in shown(found).items() if value} == wanted
