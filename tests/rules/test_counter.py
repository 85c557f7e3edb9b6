"""A scope's total as a G-counter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.counter import Counter
from rules.facts import Partial, Sums

DAYS = ("2026-08-11", "2026-08-12", "2026-08-13")


def partial(partition: int, day: str, offset: int, *, incarnation: int = 0) -> Partial:
    """A partial as one meter would tell it: its tokens follow from how far it has read."""
    tokens = (incarnation * 1_000 + offset) * 10
    return Partial("model:m", partition, day, incarnation, offset, Sums(tokens=tokens))


PARTIALS = st.builds(
    partial, st.integers(0, 2), st.sampled_from(DAYS), st.integers(0, 50), incarnation=st.integers(0, 2)
)


def total(partials: list[Partial]) -> int:
    """An independent count: the furthest partial of each partition and day."""
    furthest: dict[tuple[int, str], Partial] = {}
    for each in partials:
        known = furthest.get((each.partition, each.day))
        if known is None or (each.incarnation, each.offset) > (known.incarnation, known.offset):
            furthest[each.partition, each.day] = each
    return sum(each.sums.tokens for each in furthest.values())


@given(st.lists(PARTIALS), st.randoms(use_true_random=False))
def test_order_and_repeats_change_nothing(partials: list[Partial], random: object) -> None:
    """Whatever is repeated or reordered, the total is that of the furthest partials."""
    again = partials * 2
    random.shuffle(again)  # type: ignore[attr-defined]
    counter = Counter()
    for each in again:
        counter.merge(each)
    assert counter.total() == total(partials)


@given(st.lists(PARTIALS), st.sampled_from(DAYS))
def test_closing_days_keeps_the_total(partials: list[Partial], day: str) -> None:
    """Closing days for good moves their tokens, never loses them, and what comes for them later is not taken."""
    counter = Counter()
    for each in partials:
        counter.merge(each)
    before = counter.total()
    counter.close_before(day)
    for each in partials:
        counter.merge(each)
    assert counter.total() == before
    assert counter.before(day) == counter.carried


def test_a_seed_is_the_smallest_start_of_each_key() -> None:
    """What a gateway had counted before metering began counts once per key, at its smallest."""
    counter = Counter()
    for partition, seeds in enumerate([{"a": 500, "b": 70}, {"a": 300}]):
        counter.merge(Partial("model:m", partition, DAYS[0], 0, 1, Sums(), seeds))
    assert counter.seed(DAYS[0]) == 370


def test_of_the_same_sums_the_one_that_told_more_minutes_counts() -> None:
    """Sums are told ahead of their minutes; when these have followed, the same sums say so, whichever comes first."""
    ahead, whole = (Partial("model:m", 0, DAYS[0], 0, 5, Sums(tokens=70), unplaced=unplaced) for unplaced in (30, 0))
    for order in ([ahead, whole], [whole, ahead]):
        counter = Counter()
        for each in order:
            counter.merge(each)
        assert (counter.tokens(DAYS[0]), counter.total()) == (70, 70)
