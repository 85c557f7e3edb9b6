"""The backlog holds one entry a scope, the newest, and loses none."""

from __future__ import annotations

from collections.abc import Callable

from blastdoor_gateway.contract import Decision
from hypothesis import given
from hypothesis import strategies as st

from streams.publish.backlog import Backlog, Entry

Make = Callable[..., Decision]


def test_only_the_newest_of_a_scope_is_written(decide: Make) -> None:
    """A thousand decisions while Redis is away are one write afterwards, waiting since the first."""
    backlog = Backlog()
    for n in range(1_000):
        assert backlog.put(Entry(decide(n=n), None), at=n)
    [taken] = backlog.take(100)
    assert (taken.entry.decision.version[1], taken.since) == (999, 0)
    assert backlog.take(100) == []


def test_an_older_decision_is_dropped(decide: Make) -> None:
    """A repeat or something older gives nothing to write."""
    backlog = Backlog()
    backlog.put(Entry(decide(n=2), None), at=1)
    assert not backlog.put(Entry(decide(n=2), None), at=2)
    assert not backlog.put(Entry(decide(n=1), None), at=2)
    assert [taken.entry.decision for taken in backlog.take(9)] == [decide(n=2)]


def test_changes_go_before_repeats(decide: Make) -> None:
    """A block does not wait behind ten thousand keys that are only renewed."""
    backlog = Backlog()
    for place in range(200):
        backlog.put(Entry(decide(f"user:a/{place}"), None), at=0)
    backlog.take(200)
    assert backlog.again(backlog.scopes()) == 200
    backlog.put(Entry(decide("user:a/77", n=2), None), at=5)
    first = backlog.take(3)
    assert (first[0].entry.decision.scope, first[0].since) == ("user:a/77", 5)
    assert [taken.since for taken in first[1:]] == [None, None]
    assert len(backlog) == 197


def test_what_was_not_written_waits_again(decide: Make) -> None:
    """A failed write comes back, as the newest decision there is by then."""
    backlog = Backlog()
    backlog.put(Entry(decide(n=1), None), at=1)
    taken = backlog.take(9)
    backlog.put(Entry(decide(n=2), None), at=2)
    backlog.give_back(taken)
    assert [(each.entry.decision.version[1], each.since) for each in backlog.take(9)] == [(2, 1)]


def test_a_forgotten_scope_does_not_come_back(decide: Make) -> None:
    """Another worker owns it, even if a write of ours was under way."""
    backlog = Backlog()
    backlog.put(Entry(decide(), None), at=1)
    taken = backlog.take(9)
    backlog.forget("model:m")
    backlog.give_back(taken)
    backlog.again(["model:m"])
    assert len(backlog) == 0
    assert backlog.take(9) == []


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "write", "fail", "again", "forget"]), st.integers(0, 3), st.integers(0, 9)),
    max_size=40,
)


@given(STEPS)
def test_nothing_is_lost(steps: list[tuple[str, int, int]]) -> None:
    """Whatever happens in between, in the end Redis holds the newest of every scope not forgotten."""
    backlog, written, newest = Backlog(), dict[str, int](), dict[str, int]()
    for what, place, n in steps:
        scope = f"model:{place}"
        if what == "put":
            backlog.put(_entry(scope, n), at=0)
            newest[scope] = max(n, newest.get(scope, 0))
        elif what == "again":
            backlog.again([scope])
        elif what == "forget":
            backlog.forget(scope)
            newest.pop(scope, None)
            written.pop(scope, None)
        else:
            taken = backlog.take(2)
            if what == "fail":
                backlog.give_back(taken)
            else:
                written |= {each.entry.decision.scope: each.entry.decision.version[1] for each in taken}
        assert len(backlog) <= len(newest)
    while taken := backlog.take(2):
        written |= {each.entry.decision.scope: each.entry.decision.version[1] for each in taken}
    assert written == newest


def _entry(scope: str, n: int) -> Entry:
    return Entry(Decision(scope=scope, action="allow", rule="", reason="", day="", decided_at="", version=(1, n)), None)  # type: ignore[arg-type]
