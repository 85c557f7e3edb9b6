"""What tokens cost: exact, in whole nano-units (10⁻⁹ of the currency). A price is nano-units per million tokens, so
that no float decides whether a limit is reached.

A day's cost is a function of the day's sums and is rounded up once, for a model and day: no order and no batching
changes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import NamedTuple

from msgspec import Struct

from rules.calendar import Day
from rules.facts import Sums
from rules.policy import Policy, Price

NANO = 10**9
MILLION = 10**6

Nano = int
"""Money in nano-units."""

ASSUMED = Price(input=Decimal(20), output=Decimal(60))
"""Where no price is known at all: on the dear side, and what a gateway assumes by itself, too."""


class Tariff(Struct, frozen=True):
    """What a million tokens cost. `known`: by the policy's price for the model, not by assumption."""

    input: Nano
    cached_input: Nano
    output: Nano
    known: bool = True

    @property
    def dearest(self) -> Nano:
        """Of a token of which nobody knows what it was."""
        return max(self.input, self.cached_input, self.output)

    def as_dict(self) -> dict[str, Nano]:
        """As a decision carries it."""
        return {"input": self.input, "cached_input": self.cached_input, "output": self.output}


class Prices:
    """The prices of a policy, by model and day."""

    def __init__(self, policy: Policy) -> None:
        self._periods = policy.prices
        self._assumed = None if policy.spend is None else policy.spend.unknown_price
        self._found: dict[tuple[str, Day], Tariff] = {}
        self._day: Day = ""

    def of(self, model: str, day: Day) -> Tariff:
        """What the model costs on an accounting day; assumed where the policy has no price for it then."""
        if day > self._day:
            self._found.clear()  # days pass, and so do their prices
            self._day = day
        if (model, day) not in self._found:
            price = _valid(self._periods.get(model, ()), day)
            self._found[model, day] = self._assume(day) if price is None else _tariff(price)
        return self._found[model, day]

    def _assume(self, day: Day) -> Tariff:
        """The policy's own assumption, else the dearest price of any model; never nothing."""
        if self._assumed is not None:
            return _tariff(self._assumed, known=False)
        known = [_tariff(price) for periods in self._periods.values() if (price := _valid(periods, day))]
        if not any(tariff.dearest for tariff in known):
            return _tariff(ASSUMED, known=False)
        prompt, output = max(tariff.input for tariff in known), max(tariff.output for tariff in known)
        return Tariff(prompt, prompt, output, known=False)


class Portion(NamedTuple):
    """So many tokens at one price."""

    price: Nano
    tokens: int


def cost(sums: Sums, tariff: Tariff) -> Nano:
    """What all tokens of a model's day cost."""
    return _sum(_portions(sums, tariff))


def cost_of(tokens: int, sums: Sums, tariff: Tariff, *, dearest: bool) -> Nano:
    """What some of the day's tokens cost, if they were the dearest of them, or the cheapest."""
    if tokens <= 0:
        return 0
    if tokens >= sums.tokens:
        return cost(sums, tariff)
    taken = []
    for portion in sorted(_portions(sums, tariff), reverse=dearest):
        part = min(tokens, portion.tokens)
        taken.append(Portion(portion.price, part))
        tokens -= part
    return _sum(taken)


def to_nano(amount: Decimal) -> Nano:
    """An amount in nano-units. What is finer than one is no amount; `policy_check` refuses it."""
    return int(amount * NANO)


def in_words(amount: Nano) -> str:
    """Money for people: every digit that counts, and at least two after the point."""
    whole, rest = divmod(abs(amount), NANO)
    digits = f"{rest:09d}".rstrip("0").ljust(2, "0")
    return f"{'-' if amount < 0 else ''}{whole:,}.{digits}"


def _portions(sums: Sums, tariff: Tariff) -> list[Portion]:
    """What the day's tokens were. Those that are neither prompt nor completion cost the dearest."""
    cached = min(sums.cached, sums.prompt)
    return [
        Portion(tariff.input, sums.prompt - cached),
        Portion(tariff.cached_input, cached),
        Portion(tariff.output, sums.completion),
        Portion(tariff.dearest, max(0, sums.tokens - sums.prompt - sums.completion)),
    ]


def _sum(portions: Iterable[Portion]) -> Nano:
    return -(-sum(portion.price * portion.tokens for portion in portions) // MILLION)


def _valid(periods: Iterable[Price], day: Day) -> Price | None:
    """The last that has begun; periods are in order of their beginning."""
    return next((price for price in reversed(tuple(periods)) if price.since <= day), None)


def _tariff(price: Price, *, known: bool = True) -> Tariff:
    cached = price.input if price.cached_input is None else price.cached_input
    return Tariff(to_nano(price.input), to_nano(cached), to_nano(price.output), known)
