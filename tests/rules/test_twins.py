"""Two sources that tell of the same calls are noticed; two that tell of different ones are not."""

from __future__ import annotations

import random

from rules.moment import SECOND
from rules.records import Usage
from rules.twins import Overlap, overlaps

AT = 1_786_590_000_000


def call(source: str, n: int, at: int, tokens: int, model: str = "m") -> Usage:
    return Usage(id=f"{source}-{n}", at=at, model=model, total_tokens=tokens, source=source)


def calls(source: str, count: int, seed: int, shift: int = 0) -> list[Usage]:
    dice = random.Random(seed)
    return [call(source, n, AT + 20 * SECOND * n + shift, dice.randrange(100, 9_000)) for n in range(count)]


def test_the_same_calls_by_log_and_by_sink() -> None:
    """The same tokens two seconds apart, again and again, under two names."""
    found = overlaps([*calls("log", 50, 1), *calls("litellm", 50, 1, shift=2 * SECOND)])
    assert found == [Overlap("litellm", "log", 50, 50)]


def test_different_calls_are_no_twins() -> None:
    """Two gateways with traffic of their own."""
    assert overlaps([*calls("log", 200, 1), *calls("litellm", 200, 2)]) == []


def test_repeats_of_one_source_are_none() -> None:
    """The same event again, and equal calls of one source, say nothing about two."""
    assert overlaps([*calls("log", 50, 1), *calls("log", 50, 1)]) == []
    assert overlaps([call("log", n, AT + n, 5) for n in range(50)]) == []


def test_some_of_the_calls_told_twice() -> None:
    """A fifth is enough to be told; a handful by chance is not."""
    logged, sent = calls("log", 100, 1), calls("litellm", 100, 1)
    assert overlaps([*logged, *sent[:20]]) == [Overlap("litellm", "log", 20, 20)]
    assert overlaps([*logged, *sent[:4], *calls("litellm", 90, 9, shift=7 * SECOND)[10:]]) == []


def test_too_far_apart() -> None:
    """Six seconds later it is another call."""
    assert overlaps([*calls("log", 50, 1), *calls("litellm", 50, 1, shift=6 * SECOND)]) == []
