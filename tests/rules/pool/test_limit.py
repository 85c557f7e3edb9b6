"""min(daily cap, formula), and which of the two bites."""

from __future__ import annotations

import pytest

from rules.limit import Wall
from rules.policy import ModelTerms


def known_pool(model, tokens: int) -> None:
    """Nothing used for an hour, then a reading: both ends meet."""
    model.start("08:00")
    model.use("08:01", 1_000)
    model.read("09:30", tokens - 1_000)


def test_the_pool_bites_below_the_cap(model) -> None:
    """Beyond it tokens are charged; the small buffer and the allowance for residuals stay unused."""
    known_pool(model, 1_500_000)
    limit = model.limit()
    assert limit.wall is Wall.POOL
    assert 1_489_000 <= limit.tokens <= 1_490_000


def test_the_cap_bites_below_the_pool(model) -> None:
    """Beyond it nothing is returned tomorrow, though nothing is charged."""
    known_pool(model, 2_600_000)
    assert (model.limit().tokens, model.limit().wall) == (2_000_000, Wall.CAP)


def test_an_unknown_pool_is_no_limit(model) -> None:
    """Neither zero nor the cap."""
    assert model.look("09:00").pool_low is None
    assert (model.limit().tokens, model.limit().wall) == (None, Wall.UNKNOWN)


def test_the_formula_of_the_terms_decides(observed) -> None:
    """Another one can be asked for by name; one that does not exist is an error."""
    model = observed(ModelTerms(formula="v4", daily_cap=3_000_000))
    known_pool(model, 1_500_000)
    assert model.limit().tokens == 1_199_000
    assert model.limit("v6").tokens == 1_450_000
    with pytest.raises(KeyError):
        model.limit("v7")


def test_the_limit_counts_from_the_start_of_the_day(model) -> None:
    """After midnight what was used yesterday is gone from used, limit and pool alike."""
    known_pool(model, 1_500_000)
    before = model.limit().tokens
    model.read("2026-08-14T00:05:00+08:00", 1_499_000)
    assert model.limit().tokens == before - 1_000
