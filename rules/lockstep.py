"""Event time: facts take effect tick by tick, and a tick comes only when every source partition vouches for it.

So a recording through Kafka decides exactly as the same recording in `replay`, however its partitions are scheduled.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from rules.facts import Heard, Timed, Watermark
from rules.moment import Millis


class Applies(Protocol):
    """What a judge looks like from here."""

    def apply(self, fact: Timed) -> bool: ...


class LockStep:
    """Facts that wait for their tick. `sources` says how many partitions each source has; all of them must vouch."""

    def __init__(self, sources: Mapping[str, int]) -> None:
        self._latest: dict[tuple[str, int], Millis | None] = {
            (name, p): None for name, count in sources.items() for p in range(count)
        }
        self._usage: dict[int, deque[Timed]] = {p: deque() for p in range(sources["usage"])}
        self._heard: list[tuple[Millis, int, Heard]] = []
        self._ticks: set[Millis] = set()
        self._arrivals = 0

    def add(self, fact: Timed) -> None:
        """A fact as it arrives; within one source partition in order."""
        if isinstance(fact, Heard):
            self._arrivals += 1
            heapq.heappush(self._heard, (fact.record.at, self._arrivals, fact))
            return
        if isinstance(fact, Watermark):
            self._ticks.add(fact.at)
            self._raise(fact)
            if fact.source != "usage":
                return
        self._usage[fact.partition].append(fact)

    def steps(self, judge: Applies) -> Iterator[Millis]:
        """Apply what has come of age to `judge` and yield after each tick, at its instant."""
        frontier = self._frontier()
        if frontier is None:
            return
        for tick in sorted(at for at in self._ticks if at <= frontier):
            self._ticks.discard(tick)
            for queue in self._usage.values():
                for fact in self._due(queue, tick):
                    judge.apply(fact)
            while self._heard and self._heard[0][0] <= tick:
                judge.apply(heapq.heappop(self._heard)[2])
            yield tick

    def vouch(self, mark: Watermark) -> None:
        """How far a source partition vouched in an earlier life."""
        self._raise(mark)

    def waiting(self) -> list[Timed]:
        """What has not taken effect yet, in an order in which it can be added again."""
        queued = [fact for queue in self._usage.values() for fact in queue]
        return [*queued, *(heard for _, _, heard in sorted(self._heard, key=lambda entry: entry[:2]))]

    def _raise(self, mark: Watermark) -> None:
        known = self._latest.get((mark.source, mark.partition))
        self._latest[mark.source, mark.partition] = mark.at if known is None else max(known, mark.at)

    def _frontier(self) -> Millis | None:
        latest = list(self._latest.values())
        return None if None in latest else min(at for at in latest if at is not None)

    def _due(self, queue: deque[Timed], tick: Millis) -> Iterable[Timed]:
        """The facts of one source partition up to its last watermark at or before `tick`."""
        last = max((i for i, fact in enumerate(queue) if isinstance(fact, Watermark) and fact.at <= tick), default=-1)
        for _ in range(last + 1):
            yield queue.popleft()
