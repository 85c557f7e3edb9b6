"""When standing still is an error."""

from __future__ import annotations

import pytest

from streams.delivery.watch import Watch


@pytest.mark.parametrize(
    ("places", "stalled"),
    [
        pytest.param([(0, 5, 9), (30, 5, 9)], [[], ["p"]], id="no step in 30 s with work ahead"),
        pytest.param([(0, 5, 9), (29.9, 5, 9)], [[], []], id="not yet"),
        pytest.param([(0, 5, 5), (60, 5, 5)], [[], []], id="at the end there is nothing to do"),
        pytest.param([(0, 5, 9), (29, 6, 9), (58, 6, 9), (59, 6, 9)], [[], [], [], ["p"]], id="every step starts anew"),
        pytest.param(
            [(0, 5, 5), (29, 5, 9), (58, 5, 9), (59, 5, 9)], [[], [], [], ["p"]], id="counted from when work came"
        ),
        pytest.param([(0, 5, 9), (20, 5, 5), (40, 5, 9)], [[], [], []], id="being at the end in between counts"),
    ],
)
def test_a_position_that_does_not_move(places: list[tuple[float, int, int]], stalled: list[list[str]]) -> None:
    """Only a position below the end that has not moved for the whole time is stalled."""
    watch: Watch[str] = Watch(30)
    assert [watch.look(now, {"p": (position, end)}) for now, position, end in places] == stalled


def test_a_partition_that_went_away_is_forgotten() -> None:
    """One that comes back gets its whole time again, and an unknown end is held against nobody."""
    watch: Watch[str] = Watch(30)
    watch.look(0, {"p": (5, 9)})
    watch.look(20, {})
    assert watch.look(40, {"p": (5, 9)}) == []
