"""Lines of a recording whose time cannot be right: a wrong year must not become the clock of all the others.

A line's own time is all that a recording has. One that stands half a year from the lines around it is a dead letter; a
source that was silent for as long goes on when the lines that follow agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from rules.moment import DAY, Millis
from rules.records import Reason, Record, Rejected

LEAP: Millis = 180 * DAY  # a wrong year is farther off, and hardly a recording pauses for so long
FOLLOWING = 16  # lines that are asked; a few of them may be wrong as well

Found = Record | Rejected | None


class Years:
    """How far the times of one source have come."""

    def __init__(self) -> None:
        self._reached: Millis | None = None

    def sift(self, found: Sequence[Found]) -> Sequence[Found]:
        """What a stretch of lines says, without times that cannot be right. The last line of a stretch has nobody to
        speak for it."""
        times = [
            (index, each.at) for index, each in enumerate(found) if each is not None and not isinstance(each, Rejected)
        ]
        if self.are_steady([at for _, at in times]):
            return found
        wrong = dict(self._wrong(times))
        return [wrong.get(index, each) for index, each in enumerate(found)]

    def are_steady(self, times: Sequence[Millis]) -> bool:
        """Whether no time leaps, as almost always."""
        if not times:
            return True
        newest = max(times)
        if self._reached is None or newest > self._reached + LEAP or min(times) < self._reached - LEAP:
            return False
        self._reached = max(self._reached, newest)
        return True

    def _wrong(self, times: Sequence[tuple[int, Millis]]) -> Iterator[tuple[int, Rejected]]:
        for number, (index, at) in enumerate(times):
            usual = self._usual(at, [after for _, after in times[number + 1 : number + 1 + FOLLOWING]])
            if abs(at - usual) > LEAP:
                yield index, _rejected(at, usual)
            else:
                self._reached = max(self._reached or at, at)

    def _usual(self, at: Millis, following: Sequence[Millis]) -> Millis:
        """What a line's time should be near to: what was reached, or where the lines after it go on."""
        if self._reached is None:
            alone = bool(following) and abs(following[0] - at) > LEAP
            return median_low([at, *following]) if alone else at
        if at <= self._reached + LEAP or not following:
            return self._reached
        return max(self._reached, median_low(following))


def _rejected(at: Millis, usual: Millis) -> Rejected:
    days = abs(at - usual) // DAY
    if at > usual:
        return Rejected(Reason.IN_FUTURE, f"its time is {days:,} days ahead of the lines around it")
    return Rejected(Reason.BAD_TIME, f"its time is {days:,} days behind the lines around it")
