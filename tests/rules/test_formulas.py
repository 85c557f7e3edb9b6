"""Each formula with the numbers of the day on which it was found out."""

from __future__ import annotations

import pytest

from rules.formulas import FORMULAS, Inputs


def given(**known: int) -> Inputs:
    blank = {"pool_low": None, "small_buffer": 10_000, "balance": None, "usage": None, "yesterday": None}
    return Inputs(**(blank | known))


def limit(name: str, **known: int) -> int | None:
    return FORMULAS[name].limit(given(**known))


def test_the_interval_keeps_a_small_buffer_below_the_low_end() -> None:
    """2,242,063 is the low end of 08-13; nothing about the unsettled 149,616 enters."""
    assert limit("interval", pool_low=2_242_063, balance=1_726_526, usage=665_268) == 2_232_063


def test_v2_and_v5_keep_300_000_below_usage_plus_balance() -> None:
    """14:59:51, the balance had caught up: 1,696,135 + 596,869 - 300,000; 13:36:01, it had not: 2,500,128."""
    for name in ("v2", "v5"):
        assert limit(name, balance=596_869, usage=1_696_135) == 1_993_004
        assert limit(name, balance=1_558_307, usage=1_241_821) == 2_500_128


def test_v5_wastes_its_whole_buffer_when_nothing_lags() -> None:
    """On a quiet day 300,000 of 310,000 tokens stay unused."""
    assert limit("v5", balance=310_000, usage=0) == 10_000


def test_v3_spirals_down_to_two_thirds_in_five_days() -> None:
    """Each day may use ninety per cent of the day before: after the fifth, 66 % is left of the first limit."""
    limits = [2_000_000]
    for _ in range(5):
        limits.append(limit("v3", yesterday=limits[-1]))
    assert limits[5] / limits[1] == pytest.approx(0.66, abs=0.01)
    assert limit("v3", yesterday=10_000, balance=2_000_000, usage=0) == 9_000


def test_v4_takes_the_remainder_for_a_limit() -> None:
    """15:09:51: 296,869 against 1,696,135 used, though 596,869 free tokens are left; right only while none are used."""
    assert limit("v4", balance=596_869, usage=1_696_135) == 296_869
    assert limit("v4", balance=2_500_000, usage=0) == 2_200_000


def test_v6_is_too_high_by_what_is_not_settled() -> None:
    """11:22 on 08-13: 2,391,794 less 50,000, though the pool is 2,242,178: 99,616 tokens would be charged."""
    assert limit("v6", balance=1_726_526, usage=665_268) == 2_391_794 - 50_000
    assert 2_391_794 - 50_000 - 2_242_178 == 99_616


def test_v6_is_right_when_the_balance_has_caught_up() -> None:
    """14:59:51 on 08-12: exactly the pool less its buffer."""
    assert limit("v6", balance=596_869, usage=1_696_135) == 2_293_004 - 50_000


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_known_is_no_limit(name: str) -> None:
    """Unknown is None, never zero."""
    assert limit(name) is None


@pytest.mark.parametrize("name", ["interval", "v2", "v4", "v5", "v6"])
def test_no_limit_is_below_zero(name: str) -> None:
    """A pool smaller than the buffer allows nothing."""
    assert limit(name, pool_low=10, balance=10, usage=0) == 0


def test_every_formula_says_where_it_comes_from_and_what_is_wrong_with_it() -> None:
    """Reports print both."""
    assert list(FORMULAS) == ["interval", "v2", "v3", "v4", "v5", "v6"]
    assert all(formula.origin and formula.flaw for formula in FORMULAS.values())
