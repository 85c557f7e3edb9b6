"""The rhythm of polling: rare while there is plenty, often when it runs low, at once when it matters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.moment import MINUTE, SECOND
from rules.polling import Due, Pace, Polled, Sight, Why, due

PACE = Pace()
AT = 1_786_590_000_000
LAST = Polled(at=AT, counted={"m": 1_000_000})


def sight(used: int, counted: int = 1_000_000, **fields: Any) -> Sight:
    """A pool of 2,000,000 of which the last 10,000 are kept."""
    known = {"limit": 1_990_000, "pool_low": 2_000_000, "pool_high": 2_000_000, "wall": "pool"} | fields
    return Sight(model="m", used=used, counted=counted, **known)


def wait(sights: list[Sight], now: int = AT + MINUTE, last: Polled = LAST) -> tuple[float, Why]:
    found = due(last, sights, now, PACE)
    return (found.at - AT) / MINUTE, found.why


def test_who_has_never_asked_asks_at_once() -> None:
    """The first poll waits for nothing."""
    assert due(None, [], AT, PACE) == Due(AT, Why.FIRST)


@pytest.mark.parametrize(
    ("found", "minutes", "why"),
    [
        pytest.param(sight(0), 30, Why.REGULAR, id="nobody uses anything: every half hour"),
        pytest.param(sight(1_400_000), 10, Why.LOW, id="30 % of the pool left: every ten minutes"),
        pytest.param(sight(1_399_999), 30, Why.REGULAR, id="a token more: regular"),
        pytest.param(sight(1_800_000), 5, Why.VERY_LOW, id="10 % left: every five"),
        pytest.param(sight(200_000, 1_200_000), 1, Why.BURST, id="a tenth of the pool since the last poll: at once"),
        pytest.param(sight(10_000, 1_010_000), 30, Why.REGULAR, id="10,000 a minute: 199 minutes are left"),
        pytest.param(sight(100_000, 1_100_000), 5, Why.EMPTYING, id="100,000 a minute: 19 minutes are left"),
        pytest.param(sight(1_990_000), 5, Why.VERY_LOW, id="closed, and the interval is closed, too"),
        pytest.param(sight(1_990_000, pool_high=2_100_000), 1, Why.UNDECIDED, id="closed though there may be tokens"),
        pytest.param(sight(500_000, pool_high=2_900_000), 30, Why.REGULAR, id="a wide interval far from the wall"),
        pytest.param(sight(1_990_000, pool_high=3_000_000, wall="cap"), 5, Why.VERY_LOW, id="the cap says nothing"),
        pytest.param(sight(5, pool_low=None, limit=None), 5, Why.UNDECIDED, id="an unknown pool"),
    ],
)
def test_what_is_decided_sets_the_rhythm(found: Sight, minutes: float, why: Why) -> None:
    """Each state of a model has its distance from the last poll, counted a minute after it."""
    assert wait([found]) == (minutes, why)


def test_the_neediest_model_decides() -> None:
    """One answer tells of all models, so the earliest wish wins."""
    rich = sight(0)
    poor = Sight(model="n", used=95, counted=95, limit=99, pool_low=100, pool_high=100, wall="pool")
    assert wait([rich, poor]) == (5, Why.VERY_LOW)


def test_a_new_day_is_no_burst() -> None:
    """`used` starts anew at midnight; what is counted never does."""
    assert wait([sight(0)], last=Polled(at=AT, counted={"m": 1_000_000})) == (30, Why.REGULAR)
    assert wait([sight(0, counted=0)]) == (30, Why.REGULAR)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 15), (2, 30), (3, 60), (7, 960), (9, 1800), (400, 1800)])
def test_failures_are_tried_again_ever_later(failures: int, seconds: int) -> None:
    """Doubling from 15 s, up to the regular distance."""
    assert due(Polled(at=AT, failures=failures), [], AT, PACE) == Due(AT + seconds * SECOND, Why.RETRY)


def test_a_server_that_asks_for_patience_gets_it() -> None:
    """Its word counts where it is longer than ours."""
    assert due(Polled(at=AT, failures=1, retry_after=40 * SECOND), [], AT, PACE).at == AT + 40 * SECOND


tokens = st.integers(0, 10**9)
sights = st.builds(
    Sight,
    model=st.sampled_from("mn"),
    used=tokens,
    counted=tokens,
    wall=st.sampled_from(["pool", "cap", ""]),
    limit=st.none() | tokens,
    pool_low=st.none() | tokens,
    pool_high=st.none() | tokens,
)


@given(st.lists(sights, max_size=4), st.integers(0, 60 * MINUTE), tokens)
def test_whatever_is_decided_the_bounds_hold(found: list[Sight], later: int, counted: int) -> None:
    """Never within the gap after a poll, never longer apart than the regular distance."""
    last = Polled(at=AT, counted={"m": counted})
    assert AT + PACE.gap <= due(last, found, AT + later, PACE).at <= AT + PACE.every
