"""A run goes on when one of its rows does not."""

from __future__ import annotations

from bench.processes import ConsumerFailed, PartMissing
from bench.rows import Row
from bench.session import QUICK, Session


def refuse(error: Exception) -> Row:
    raise error


def test_a_row_that_fails_or_lacks_its_part_stops_no_other() -> None:
    """What is missing is named with how to get it, what failed makes the run fail, and the rest is measured."""
    told: list[str] = []
    run = Session(QUICK, (), told.append)
    assert run.attempt("quix", lambda: refuse(PartMissing("sh .ci/quix")))
    assert run.attempt("stock faust", lambda: refuse(ConsumerFailed("it ended")))
    assert run.attempt("replay", lambda: Row(name="replay", rate=200_000.0))
    assert run.absent == {"quix": "sh .ci/quix"}
    assert run.failed == ["stock faust"]
    assert told == ["quix: left out", "stock faust: failed: it ended", "replay: 200,000/s"]


def test_only_what_is_wanted_is_measured() -> None:
    """A part of a name is enough; the others are not even begun."""
    run = Session(QUICK, ("workload",), print)
    assert run.attempt("workload A", lambda: Row(name="workload A"))
    assert not run.attempt("quix", lambda: refuse(AssertionError("it was begun")))
