"""How far a worker knows that all usage has been metered."""

from __future__ import annotations

from rules.facts import Watermark
from rules.moment import MINUTE
from tests.streams.test_judge import START, Bed


def test_the_earliest_source_says() -> None:
    """Only where every source vouches is it known, and then it is the earliest of them."""
    bed = Bed(event_clock=False)
    assert bed.step.complete_until() is None
    bed.add(Watermark("usage", 0, 0, 1, START + MINUTE, START))
    bed.partition.handle(1)
    assert bed.step.complete_until() is None
    bed.add(Watermark("usage", 1, 0, 1, START, START))
    bed.partition.handle(1)
    assert bed.step.complete_until() == START
