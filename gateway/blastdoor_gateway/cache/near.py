"""Near duplicates by rapidfuzz: the extra `near`. A question that differs from a recent one by slips of the pen.

Likeness alone is no ground: "approved" and "not approved" are very alike. So rapidfuzz finds candidates, and one is
taken only if all that differs are slips in long words: a letter doubled or two swapped, never one put for another, and
never at either end of a word, where "un-", "a-" and "-less" stand. Chinese characters, numbers and short words must
agree.
"""

from __future__ import annotations

import re
from typing import Any

from blastdoor_gateway.memory import Recent

LIKE = 90.0  # per cent; below it is not looked at
LONG_WORD = 8
_WORDS = re.compile(r"[a-z]+|[^\sa-z]")


class NearQuestions:
    """Recent questions of each scope, in this process's memory only. Without rapidfuzz it knows none."""

    def __init__(self, scopes: int = 2_000, each: int = 200) -> None:
        self._scopes: Recent[str, Recent[str, None]] = Recent(scopes)
        self._each = each
        self._fuzzy = _rapidfuzz()

    def remember(self, scope: str, question: str) -> None:
        """A question that has been answered."""
        known = self._scopes.get(scope)
        if known is None:
            known = Recent(self._each)
            self._scopes.put(scope, known)
        known.put(question, None)

    def find(self, scope: str, question: str) -> str | None:
        """A question of the scope that asks the same."""
        known = self._scopes.get(scope)
        if known is None or self._fuzzy is None:
            return None
        process, fuzz, distance = self._fuzzy
        found = process.extract(question, known.keys(), scorer=fuzz.ratio, score_cutoff=LIKE, limit=5)
        return next((each for each, _, _ in found if _asks_the_same(question, each, distance)), None)


def _asks_the_same(one: str, other: str, distance: Any) -> bool:
    ours, theirs = _WORDS.findall(one), _WORDS.findall(other)
    if len(ours) != len(theirs):
        return False
    return all(a == b or _is_slip(a, b, distance) for a, b in zip(ours, theirs, strict=True))


def _is_slip(one: str, other: str, distance: Any) -> bool:
    if min(len(one), len(other)) < LONG_WORD or one[:3] != other[:3] or one[-1] != other[-1]:
        return False
    if len(one) == len(other):  # a swap, no letter put for another
        return sorted(one) == sorted(other) and bool(distance.distance(one, other) == 1)
    longer, shorter = sorted((one, other), key=len, reverse=True)
    return any(
        longer[:place] + longer[place + 1 :] == shorter for place in range(1, len(longer)) if _doubled(longer, place)
    )


def _doubled(word: str, place: int) -> bool:
    return word[place] == word[place - 1]


def _rapidfuzz() -> tuple[Any, Any, Any] | None:
    try:
        from rapidfuzz import fuzz, process  # noqa: PLC0415  (an extra)
        from rapidfuzz.distance import OSA  # noqa: PLC0415
    except ImportError:
        return None
    return process, fuzz, OSA
