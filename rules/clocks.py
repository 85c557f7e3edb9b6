"""Clocks that are apart: what a record says of its time, beside the time at which it was received.

Only that comparison shows it. To the balance, usage stamped two minutes late looks like a settlement two minutes
earlier, and the lag is not known anyhow.
"""

from __future__ import annotations

from msgspec import Struct

from rules.moment import HOUR, MINUTE, SECOND, Millis

# Usage is known by the minute, so less moves no bound. Synchronised clocks keep to a second, and a record is under way
# for a few.
TOLERANCE: Millis = MINUTE
EPISODE: Millis = HOUR  # what comes again within it is the same
BELIEVED = 3  # a record or two may have been held up


def apart(at: Millis, received: Millis) -> Millis:
    """By how much a record's time is ahead of its receipt, negative: behind it; 0 within the tolerance."""
    ahead = at - received
    return ahead if abs(ahead) > TOLERANCE else 0


def says(ahead: Millis) -> str:
    """The same for a person."""
    seconds = abs(ahead) // SECOND
    if ahead > 0:
        return f"{seconds:,} s ahead of their receipt: the clock that stamped them is fast, or ours is slow"
    return f"{seconds:,} s behind their receipt: the clock that stamped them is slow, or they came late"


class ClockWatch(Struct):
    """What was seen of usage lately: how often it was apart, when last, and by how much then."""

    seen: int = 0
    last: Millis = 0
    ahead: Millis = 0

    def note(self, ahead: Millis, now: Millis) -> None:
        """Usage was apart by so much. None comes before its time, so one that is ahead is enough."""
        if now - self.last > EPISODE:
            self.seen = 0
        self.seen += BELIEVED if ahead > 0 else 1
        self.last, self.ahead = max(self.last, now), ahead

    def apart(self, now: Millis) -> Millis:
        """By how much clocks are apart, as far as that is certain; 0: they are not."""
        return self.ahead if self.seen >= BELIEVED and now - self.last <= EPISODE else 0
