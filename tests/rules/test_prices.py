"""What tokens cost: exact in nano-units, whatever the order of calls, and never nothing for want of a price."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.facts import Sums
from rules.policy import Policy, Price, Spend
from rules.prices import ASSUMED, NANO, Prices, Tariff, cost, cost_of, in_words, to_nano

DAY = "2026-08-13"


def price(given: str, output: str, cached: str | None = None, since: str = "") -> Price:
    exact = None if cached is None else Decimal(cached)
    return Price(input=Decimal(given), output=Decimal(output), cached_input=exact, since=since)


def tariff(given: str, output: str, cached: str | None = None) -> Tariff:
    return Prices(Policy(prices={"m": (price(given, output, cached),)})).of("m", DAY)


def sums(prompt: int, completion: int = 0, cached: int = 0, tokens: int | None = None) -> Sums:
    total = prompt + completion if tokens is None else tokens
    return Sums(tokens=total, prompt=prompt, completion=completion, cached=cached)


@pytest.mark.parametrize(
    ("used", "prices", "money"),
    [
        pytest.param(sums(262_960, 1_744, 257_955), ("1.25", "10", "0.625"), "0.184918125", id="cached input"),
        pytest.param(sums(24_643, 3_110, 24_503), ("1.5", "9", "0.15"), "0.03187545", id="a cached image"),
        pytest.param(sums(1_000_000, tokens=1_000_000), ("2", "8"), "2", id="a call that says it cost nothing"),
        pytest.param(sums(0, tokens=1_000_000), ("2", "8"), "8", id="tokens without parts are the dearest"),
    ],
)
def test_known_bills(used: Sums, prices: tuple[str, ...], money: str) -> None:
    """Cached input is priced once, at its own price; what a call says of its cost does not matter."""
    assert cost(used, tariff(*prices)) == to_nano(Decimal(money))


def test_four_calls_cost_their_sum() -> None:
    """0.1655 four times is 0.662: no float decides."""
    one = sums(165_500)
    four = sums(4 * 165_500)
    assert 4 * cost(one, tariff("1", "1")) == cost(four, tariff("1", "1")) == to_nano(Decimal("0.662"))


def test_attempts_that_failed_cost_only_what_they_used() -> None:
    """Three requests of which two failed without usage: the money is that of the one."""
    one, retried = sums(1_000), Sums(tokens=1_000, requests=3, failed=2, prompt=1_000)
    assert cost(retried, tariff("1", "1")) == cost(one, tariff("1", "1"))


def test_prices_have_a_first_day() -> None:
    """A price holds from its day on; before the first one the model has none."""
    periods = (price("1", "2", since="2026-08-01"), price("3", "4", since="2026-08-13"))
    prices = Prices(Policy(prices={"m": periods}))
    assert [prices.of("m", day).input // NANO for day in ("2026-08-12", "2026-08-13", "2027-01-01")] == [1, 3, 3]
    assert not prices.of("m", "2026-07-31").known


def test_an_unknown_price_is_never_nothing() -> None:
    """The policy's assumption, else the dearest price of all, else a dear one."""
    known = {"a": (price("1", "9"),), "b": (price("5", "2", "0.1"),), "free": (price("0", "0"),)}
    spend = Spend(daily=Decimal(500), unknown_price=price("7", "8", "3"))
    assert Prices(Policy(prices=known, spend=spend)).of("x", DAY) == Tariff(7 * NANO, 3 * NANO, 8 * NANO, known=False)
    assert Prices(Policy(prices=known)).of("x", DAY) == Tariff(5 * NANO, 5 * NANO, 9 * NANO, known=False)
    assert Prices(Policy(prices={"free": known["free"]})).of("x", DAY).output == to_nano(ASSUMED.output)
    assert Prices(Policy()).of("x", DAY).dearest > 0
    assert Prices(Policy(prices=known)).of("free", DAY).dearest == 0


amounts = st.integers(0, 10**9)
rates = st.integers(0, 10**13)


@given(amounts, amounts, amounts, amounts, rates, rates, rates, amounts)
def test_a_part_costs_no_more_than_all(
    fresh: int, cached: int, output: int, other: int, first: int, second: int, third: int, part: int
) -> None:
    """Cheapest ≤ dearest ≤ list, and the whole is the list."""
    used = Sums(tokens=fresh + cached + output + other, prompt=fresh + cached, completion=output, cached=cached)
    at = Tariff(first, second, third)
    least, most = (cost_of(part, used, at, dearest=dearest) for dearest in (False, True))
    assert least <= most <= cost(used, at)
    assert cost_of(used.tokens, used, at, dearest=True) == cost(used, at)


@pytest.mark.parametrize(
    ("nano", "words"),
    [(0, "0.00"), (500 * NANO, "500.00"), (499_999_999_999, "499.999999999"), (1_234_500_000_000, "1,234.50")],
)
def test_money_in_words(nano: int, words: str) -> None:
    """Every digit that counts: what is below a limit does not read as the limit."""
    assert in_words(nano) == words
