"""What a rule may ask about: the facts of a kind of scope. Every fact is always there; an unknown number is null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product

from msgspec import Struct

FactValue = str | int | float | bool | None
Facts = Mapping[str, FactValue]

MOST_SAMPLES = 1_024


class FactSpec(Struct, frozen=True, kw_only=True):
    """One fact: its CEL type, its meaning, and values on which conditions are tried when they are loaded."""

    name: str
    kind: str  # string, int, double, bool
    meaning: str
    samples: tuple[FactValue, ...]
    nullable: bool = False  # null while unknown


def text(name: str, meaning: str, *samples: str) -> FactSpec:
    return FactSpec(name=name, kind="string", meaning=meaning, samples=samples)


def flag(name: str, meaning: str) -> FactSpec:
    return FactSpec(name=name, kind="bool", meaning=meaning, samples=(False, True))


def whole(name: str, meaning: str, *, nullable: bool = False) -> FactSpec:
    return FactSpec(name=name, kind="int", meaning=meaning, samples=(0, 1_500_000), nullable=nullable)


def decimal(name: str, meaning: str, *, nullable: bool = False) -> FactSpec:
    return FactSpec(name=name, kind="double", meaning=meaning, samples=(0.0, 1.5), nullable=nullable)


def samples(specs: Mapping[str, FactSpec], names: tuple[str, ...]) -> Iterator[Facts]:
    """Combinations of known values of the named facts, as many as are worth trying."""
    for values in islice(product(*(specs[name].samples for name in names)), MOST_SAMPLES):
        yield dict(zip(names, values, strict=True))
