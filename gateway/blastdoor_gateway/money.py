"""Money in whole nano-units (10⁻⁹ of a currency), so that no float decides whether a call is let through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

NANO = 10**9
MILLION = 10**6
LEAST, MOST = 10**5, 10**13
"""A price beyond these (0.0001 and 10,000 per million tokens) was written for another unit. 0 is free."""

Nano = int
"""Money in nano-units; a price is nano-units per million tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in nano-units."""

    input: Nano
    output: Nano
    cached_input: Nano

    @classmethod
    def of(cls, input: object, output: object, cached_input: object = None) -> Price:  # noqa: A002
        """From exact decimals as people write them; cached input costs what input costs unless told."""
        return cls(_price(input), _price(output), _price(input if cached_input is None else cached_input))

    def as_dict(self) -> dict[str, Nano]:
        return {"input": self.input, "output": self.output, "cached_input": self.cached_input}

    def cost(self, tokens: Tokens) -> Nano:
        """What a call costs, rounded up. Tokens of which nobody knows what they were cost the dearer of both."""
        fresh = max(0, tokens.prompt - tokens.cached)
        unknown = max(0, tokens.total - tokens.prompt - tokens.completion)
        parts = fresh * self.input + tokens.cached * self.cached_input + tokens.completion * self.output
        return -(-(parts + unknown * max(self.input, self.output)) // MILLION)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a call used. `cached` is a part of `prompt`; the parts may be unknown, `total` never."""

    total: int
    prompt: int = 0
    completion: int = 0
    cached: int = 0


NO_TOKENS = Tokens(0)


def to_nano(text: object) -> Nano:
    """An amount of money from a decimal; raises ValueError if it is none, negative or finer than a nano-unit."""
    try:
        amount = Decimal(str(text)) * NANO
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0 or amount != amount.to_integral_value():
        msg = f"not an amount of money: {text}"
        raise ValueError(msg)
    return int(amount)


def price_from(stored: Mapping[str, int]) -> Price | None:
    """A price as a decision or an answer carries it; None where there is none."""
    if not stored.get("input") and not stored.get("output"):
        return None
    given = stored.get("input", 0)
    return Price(given, stored.get("output", 0), stored.get("cached_input", given))


def _price(text: object) -> Nano:
    price = to_nano(text)
    if price > MOST or 0 < price < LEAST:
        msg = f"a price of {text} per million tokens: it is given per million, not per token or per thousand"
        raise ValueError(msg)
    return price
