"""Two sources that tell of the same calls: each call would be counted twice, under ids that have nothing in common.

Calls of one model with the same number of tokens, told by different sources within a few seconds of each other, are
twins. A few are chance; a good share of all that a source tells is not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from rules.moment import SECOND, Millis
from rules.records import Usage

NEAR: Millis = 5 * SECOND
LEAST = 5
SHARE = 0.2


class Overlap(Struct, frozen=True, order=True):
    """`twins` of the `told` calls of the source that tells less are told by the other, too."""

    first: str
    second: str
    twins: int
    told: int


def overlaps(events: Iterable[Usage]) -> list[Overlap]:
    """Pairs of sources that tell of the same calls. Calls without tokens say nothing."""
    told: defaultdict[str, int] = defaultdict(int)
    alike: defaultdict[tuple[str, int], list[tuple[Millis, str, str]]] = defaultdict(list)
    for event in {event.id: event for event in events}.values():
        if event.total_tokens:
            told[event.source] += 1
            alike[event.model, event.total_tokens].append((event.at, event.source, event.id))
    twins: defaultdict[tuple[str, str], int] = defaultdict(int)
    for calls in alike.values():
        for pair in _pairs(sorted(calls)):
            twins[pair] += 1
    found = [Overlap(first, second, count, min(told[first], told[second])) for (first, second), count in twins.items()]
    return sorted(each for each in found if each.twins >= max(LEAST, SHARE * each.told))


def _pairs(calls: list[tuple[Millis, str, str]]) -> Iterable[tuple[str, str]]:
    """Each call is the twin of one other at most."""
    waiting: list[tuple[Millis, str]] = []
    for at, source, _ in calls:
        waiting = [(then, other) for then, other in waiting if at - then <= NEAR]
        match = next((each for each in waiting if each[1] != source), None)
        if match is None:
            waiting.append((at, source))
        else:
            waiting.remove(match)
            yield min(source, match[1]), max(source, match[1])
