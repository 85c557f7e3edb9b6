"""Gauges over names that anybody can make up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from streams.bounded_gauges import LONGEST, OneOf, Tally, TopTenants, label_value

PLACES = 3
STEPS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 1_000), st.booleans()), max_size=60)


def gauge(*labels: str) -> Gauge:
    return Gauge("g", "G.", labels, registry=CollectorRegistry())


def shown(found: Gauge) -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for family in found.collect() for sample in family.samples}


@given(STEPS)
def test_only_the_largest_are_shown(steps: list[tuple[str, int, bool]]) -> None:
    """Never more than there are places, each with its newest number; usage that only grows shows the largest."""
    used_gauge, limit_gauge = gauge("tenant", "window"), gauge("tenant", "window")
    top = TopTenants(used_gauge, limit_gauge, PLACES)
    used: dict[str, int] = {}
    for tenant, more, limited in steps:
        used[tenant] = used.get(tenant, 0) + more
        top.put(tenant, {"day_used": used[tenant], **({"day_limit": 9} if limited else {})})
        seen = shown(used_gauge)
        assert len(seen) <= PLACES
        assert all(value == used[name] for (name, _), value in seen.items())
        assert shown(limit_gauge).keys() <= seen.keys()
        largest = sorted(used.values(), reverse=True)[: len(seen)]
        assert sorted(seen.values(), reverse=True) == largest


def test_a_tenant_leaves_with_its_limits() -> None:
    """Who makes room, and who is another worker's now, is absent, in every window; a limit that there is not, too."""
    used, limit = gauge("tenant", "window"), gauge("tenant", "window")
    top = TopTenants(used, limit, places=1)
    windows = {"day_used": 1, "month_used": 7, "day_limit": 10, "month_limit": 20}
    top.put("small", windows)
    assert shown(used) == {("small", "day"): 1, ("small", "month"): 7}
    assert shown(limit) == {("small", "day"): 10, ("small", "month"): 20}
    top.put("large", {"day_used": 2, "month_used": 2, "month_limit": 5})
    assert (shown(used), shown(limit)) == ({("large", "day"): 2, ("large", "month"): 2}, {("large", "month"): 5})
    top.put("large", {"day_used": 2, "month_used": 2})
    assert shown(limit) == {}
    top.drop("large")
    assert shown(used) == {}
    top.put("small", windows)
    assert shown(limit) == {("small", "day"): 10, ("small", "month"): 20}


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


@given(st.lists(st.text(max_size=90) | st.sampled_from(["\ud800", "a\r\nb", "\u202e", "x" * 600]), unique=True))
def test_a_name_becomes_a_harmless_label(names: list[str]) -> None:
    """Short, on one line, encodable, and another for another name; a name that is all that already stays as it is."""
    labels = [label_value(name) for name in names]
    assert len(set(labels)) == len(names)
    for name, label in zip(names, labels, strict=True):
        assert len(label) <= LONGEST
        assert len(label.splitlines()) <= 1
        label.encode()
        assert label_value(label) == label
        assert label == name or label.rpartition("…")[2] not in name
