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
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from rules.calls import Calls
from rules.moment import EARLIEST, MINUTE, Millis
from rules.records import Clock, Reading, Record, Rejected, Usage
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


class EventClock:
    """Rules 2 and 3 for records that come in the order of their arrival."""

    def __init__(self) -> None:
        self._now: Millis | None = None
        self._read: Millis | None = None  # arrival of the newest reading
        self._last: Millis | None = None  # arrival of the newest record

    def before(self, arrival: Millis) -> Iterator[Clock]:
        """What is to be said before a record that arrives then."""
        for instant in (self._read, (arrival - 1) // MINUTE * MINUTE):
            if instant is not None and instant < arrival and (self._now is None or instant > self._now):
                self._now = instant
                yield Clock(at=instant)

    def quiet_until(self) -> Millis:
        """Before a record that arrives up to then nothing is to be said."""
        if self._now is None:
            return EARLIEST
        minute = (self._now // MINUTE + 1) * MINUTE
        return minute if self._read is None or self._read <= self._now else min(minute, self._read)

    def passed(self, arrival: Millis, *, reading: bool = False) -> None:
        """A record has arrived."""
        self._last = arrival
        if reading:
            self._read = arrival

    def end(self) -> Iterator[Clock]:
        """What is to be said after the last record."""
        if self._last is not None:
            yield Clock(at=self._last)


def merged(recordings: Iterable[Iterable[Entry]]) -> Iterator[Entry | Clock]:
    """All entries by the time at which they arrived, and the clock between them."""
    clock = EventClock()
    for arrival, entry in heapq.merge(*map(_with_arrival, recordings), key=lambda arrival: arrival[0]):
        if entry.at is not None:
            yield from clock.before(arrival)
            clock.passed(arrival, reading=isinstance(entry.found, Reading))
        yield entry
    yield from clock.end()


Found = Record | Rejected | None


def in_lots(answers: Iterable[Sequence[Found] | Calls]) -> Iterator[Found | Calls]:
    """The same for one recording, at a fraction of the cost: usage comes in lots, between which the clock moves.

    `answers`: what stretches of lines say.
    """
    clock, arrival = EventClock(), EARLIEST
    for answer in answers:
        for found in (answer,) if isinstance(answer, Calls) else _gathered(answer):
            if isinstance(found, Calls):
                arrivals = _arrivals(found.ats, arrival)
                yield from _clocked(clock, found, arrivals)
                arrival = arrivals[-1]
                continue
            if found is not None and not isinstance(found, Rejected):
                arrival = max(arrival, found.at)
                yield from clock.before(arrival)
                clock.passed(arrival, reading=isinstance(found, Reading))
            yield found
    yield from clock.end()


def _arrivals(ats: Sequence[Millis], before: Millis) -> list[Millis]:
    """Nothing arrives before what stands above it; as a rule lines stand in the order of their times."""
    ordered = sorted(ats)
    if ats[0] >= before and ordered == list(ats):
        return ordered
    return list(accumulate(ats, max, initial=before))[1:]


def _gathered(found: Sequence[Found]) -> Iterator[Found | Calls]:
    """Events of usage that follow one another in one."""
    for is_usage, run in groupby(found, key=lambda each: type(each) is Usage):
        if is_usage:
            usages: Any = list(run)
            yield Calls(usages, [usage.at for usage in usages])
        else:
            yield from run


def _clocked(clock: EventClock, found: Calls, arrivals: list[Millis]) -> Iterator[Clock | Calls]:
    start = 0
    while start < len(arrivals):
        yield from clock.before(arrivals[start])
        stop = bisect_right(arrivals, clock.quiet_until(), start)
        yield Calls(found.calls[start:stop], found.ats[start:stop])
        clock.passed(arrivals[stop - 1])
        start = stop


def _with_arrival(recording: Iterable[Entry]) -> Iterator[tuple[Millis, Entry]]:
    """Nothing arrives before what stands above it."""
    arrival = EARLIEST
    for entry in recording:
        if entry.at is not None:
            arrival = max(arrival, entry.at)
        yield arrival, entry
