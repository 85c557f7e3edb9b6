"""Calls of tenants, as strategies and by hand."""

from __future__ import annotations

from hypothesis import strategies as st

from rules.cells import Cell, Sheet, add_up
from rules.records import Usage
from rules.rollup import Rollup, Rollups

DAY = "2026-08-13"
HOSTILE = ("😀" * 10_000, '=HYPERLINK("http://x")', 'a,"b"\n;', "", "|", "…other", "\t+1")

names = st.sampled_from(["", "rd", "sales", "hr", *HOSTILE])


def call(number: int, tokens: int = 10, **fields: object) -> Usage:
    """One call with an id of its own."""
    return Usage(id=f"c{number}", at=0, model="m", total_tokens=tokens, **fields)  # type: ignore[arg-type]


calls = st.lists(
    st.builds(
        Usage,
        id=st.uuids().map(str),
        at=st.just(0),
        model=st.sampled_from(["m1", "m2"]),
        total_tokens=st.integers(0, 10**12),
        prompt_tokens=st.integers(0, 10**12),
        completion_tokens=st.integers(0, 10**12),
        cached_tokens=st.integers(0, 10**6),
        tenant=st.sampled_from(["", "acme", "zeta", "beta", HOSTILE[0]]),
        department=names,
        user=names,
        knowledge_base=names,
        cache_hit=st.booleans(),
        source=st.sampled_from(["gate", ""]),
    ),
    max_size=30,
)


def expected(found: list[Usage]) -> Cell:
    """The sums over calls, one by one."""
    return add_up(
        [0, 1, 0, 0, 0, 1, each.total_tokens]
        if each.cache_hit
        else [each.total_tokens, 1, each.prompt_tokens, each.completion_tokens, each.cached_tokens, 0, 0]
        for each in found
    )


def totals(sheets: dict[str, Sheet]) -> list[Cell]:
    """The sums over all tenants, once for each dimension."""
    return [add_up(sheet.total(place) for sheet in sheets.values()) for place in range(4)]


def rolled_up(tables: Rollups) -> list[Rollup]:
    """All tables that changed since the last call."""
    tables.begin_round()
    return tables.take_due(0, most=1_000_000)
