"""The order of recordings: several files merged by time, with the clock that moves between their records.

Rule 1: the lines of one file stay in their order. A line later than its own time is late in the recording, too.
Rule 2: the clock says that everything up to it has been given. It moves to the last full minute before each record (so
no record is ever more than a minute ahead of it), to the time of each reading, and in the end to that of the last
record.
Rule 3: it moves once to an instant, when the first line of a later one is met. A clock between two records of the same
instant would leave to chance whether who hears it has seen the second.
Rule 4: a line whose time cannot be right moves nothing (`streams.ship.years`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rules.moment import MINUTE, Millis
from rules.records import Clock, Reading, Record, Rejected
from streams.ship.lines import Line


class Entry(NamedTuple):
    """What a line of a recording says, and where it stood."""

    found: Record | Rejected | None
    line: Line
    source: str

    @property
    def at(self) -> Millis | None:
        """Its own time; none where it could not be read."""
        return None if self.found is None or isinstance(self.found, Rejected) else self.found.at


def merged(recordings: Iterable[Iterable[Entry]]) -> Iterator[Entry | Clock]:
    """All entries by the time at which they arrived, and the clock between them."""
    arrivals = heapq.merge(*map(_with_arrival, recordings), key=lambda arrival: arrival[0])
    now: Millis | None = None
    read: Millis | None = None  # of the newest reading
    last: Millis | None = None
    for arrival, entry in arrivals:
        if entry.at is not None:
            for instant in (read, (arrival - 1) // MINUTE * MINUTE):
                if instant is not None and instant < arrival and (now is None or instant > now):
                    now = instant
                    yield Clock(at=now)
            last = arrival
        if isinstance(entry.found, Reading):
            read = arrival
        yield entry
    if last is not None:
        yield Clock(at=last)


def _with_arrival(recording: Iterable[Entry]) -> Iterator[tuple[Millis, Entry]]:
    """Nothing arrives before what stands above it."""
    arrival: Millis = 0
    for entry in recording:
        if entry.at is not None:
            arrival = max(arrival, entry.at)
        yield arrival, entry
