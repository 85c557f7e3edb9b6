"""The plan keeps what users need until the return, the buffer and the cap, and plans nothing by what is unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.consumption import NEAR, Standing, expected_use, plan
from rules.moment import DAY, HOUR
from rules.outlook import Unused

START = 1_786_550_400_000  # 2026-08-13T00:00:00+08:00
END = START + DAY
NIGHT = START + 23 * HOUR
SOON = (Unused("p", NIGHT + NEAR, 500_000),)


def standing(**changes: Any) -> Standing:
    usual = {"model": "m", "action": "allow", "cap": 2_000_000, "buffer": 10_000, "used": 230_000,
             "pool_low": 2_000_000, "yesterday": 240_000, "expiring": SOON}  # fmt: skip
    return Standing(**(usual | changes))


def tokens(asked: bool = False, **changes: Any) -> int:
    return plan(standing(**changes), NIGHT, START, END, asked=asked).tokens


def test_the_pool_less_what_is_needed_until_noon() -> None:
    """240,000 a day make 130,000 in the 13 hours until the return has usually come."""
    assert expected_use(standing(), NIGHT, START, END) == 130_000
    assert tokens() == 2_000_000 - 230_000 - 10_000 - 130_000


def test_the_cap_is_never_planned_beyond() -> None:
    """What is used beyond it does not come back."""
    assert tokens(pool_low=5_000_000) == 2_000_000 - 230_000
    assert tokens(used=2_000_000, pool_low=5_000_000) == 0


def test_the_busier_of_two_days_counts() -> None:
    """Yesterday unknown: today's own rhythm."""
    assert expected_use(standing(used=460_000), NIGHT, START, END) == 260_000
    assert expected_use(standing(yesterday=None), NIGHT, START, END) == 130_000


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"expiring": ()}, "nothing ends unused within 9 days", id="no package"),
        pytest.param({"expiring": (Unused("p", NIGHT + NEAR + 1, 1),)}, "nothing ends unused", id="a later end"),
        pytest.param({"pool_low": None}, "the pool is not known", id="unknown pool"),
        pytest.param({"used": None}, "the pool is not known", id="unknown usage"),
        pytest.param({"action": "block", "reason": "spent"}, "calls are to be refused: spent", id="blocked"),
        pytest.param({"action": "kill"}, "calls are to be refused: kill", id="killed"),
        pytest.param({"action": "unknown"}, "calls are to be refused", id="undecided"),
        pytest.param({"pool_low": 370_000}, "needed until the return", id="nothing to spare"),
    ],
)
def test_what_stands_against_it_is_named(changes: dict[str, Any], why: str) -> None:
    """No tokens, and a reason."""
    found = plan(standing(**changes), NIGHT, START, END, asked=False)
    assert (found.tokens, why in found.why) == (0, True)


def test_asked_it_plans_without_an_end_in_sight() -> None:
    """Never where calls are refused."""
    assert tokens(asked=True, expiring=()) > 0
    assert tokens(asked=True, action="degrade") == 0


AMOUNT = st.integers(0, 5_000_000)


@given(AMOUNT, AMOUNT, AMOUNT, AMOUNT, st.integers(0, 23))
def test_users_keep_what_they_need(used: int, pool: int, cap: int, yesterday: int, hour: int) -> None:
    """After the plan is carried out, the buffer and the expected use are still in the pool, and the cap holds."""
    given_ = standing(used=used, pool_low=pool, cap=cap, yesterday=yesterday)
    found = plan(given_, START + hour * HOUR, START, END, asked=True)
    assert found.tokens >= 0
    if found.tokens:
        assert used + found.tokens <= cap
        assert pool - used - found.tokens >= given_.buffer + found.expected
