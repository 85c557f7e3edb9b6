"""A day in few numbers: bounded, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.cells import DIMENSIONS, Sheet
from rules.rollup import Rollup
from rules.shares import DayShares, Shares, by_value, together

PLACES = 3
NAMES = st.sampled_from(["", *"abcdefgh"])
STEPS = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 1_000)), max_size=60)


def sheet(tokens: dict[str, int]) -> Sheet:
    """A tenant's day, by the same values in every dimension; the value `h` has found no place."""
    cells = {name: [amount, 1, 0, 0, 0, 0, 0] for name, amount in tokens.items()}
    other = cells.pop("h", [0] * 7)
    return Sheet(cells, dict(cells), dict(cells), dict(cells), [other] * 4)


@given(STEPS)
def test_the_largest_have_names(steps: list[tuple[str, str, int]]) -> None:
    """Of usage that grows in any order the tenants and the values that use most are shown, never more than there are
    places; the total is that of all."""
    day = DayShares(PLACES)
    used: dict[str, dict[str, int]] = {}
    for tenant, value, tokens in steps:
        own = used.setdefault(tenant, {})
        own[value] = own.get(value, 0) + tokens
        day.note(tenant, sheet(own))
        totals = {name: sum(values.values()) for name, values in used.items()}
        assert day.total == sum(totals.values())
        assert len(day.largest) == min(PLACES, len(used))
        assert sorted(share.tokens for share in day.largest.values()) == sorted(totals.values())[-len(day.largest) :]
        for name, share in day.largest.items():
            assert share.tokens == totals[name]
            named = {value: tokens for value, tokens in used[name].items() if value != "h"}
            for dimension in DIMENSIONS:
                found = by_value(share, dimension)
                assert found.items() <= named.items()
                assert sorted(found.values()) == sorted(named.values())[-PLACES:]


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 2), st.integers(1, 50))))
def test_partitions_are_seen_together(used: dict[str, tuple[int, int]]) -> None:
    """Wherever a tenant is counted, the largest of all partitions are the same."""
    days = [DayShares(PLACES) for _ in range(3)]
    for tenant, (partition, tokens) in used.items():
        days[partition].note(tenant, sheet({"x": tokens}))
    total, largest = together(days, PLACES)
    amounts = sorted(tokens for _, tokens in used.values())
    assert total == sum(amounts)
    assert sorted(share.tokens for share in largest.values()) == amounts[-PLACES:]


def test_only_the_newest_days_are_kept() -> None:
    """Two of them; what comes late for an older one is of no interest here."""
    shares = Shares()
    for day in ("2026-08-14", "2026-08-12", "2026-08-13", "2026-08-12"):
        shares.note(Rollup("acme", day, 0, sheet({"x": 1})))
    assert sorted(shares.days) == ["2026-08-13", "2026-08-14"]
