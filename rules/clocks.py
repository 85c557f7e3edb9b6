"""Clocks that are apart: what a record says of its time, beside the time at which it was received.

Only that comparison shows it. To the balance, usage stamped two minutes late looks like a settlement two minutes
earlier, and the lag is not known anyhow.
"""

from __future__ import annotations

from msgspec import Struct

from rules.alerts import Kind
from rules.moment import HOUR, MINUTE, SECOND, Millis
from rules.pool_state import Notice

# Usage is known by the minute, so less moves no bound. Synchronised clocks keep to a second, and a record is under way
# for a few.
TOLERANCE: Millis = MINUTE
EPISODE: Millis = HOUR  # what comes again within it is the same
BELIEVED = 3  # a record or two may have been held up; none comes before its time


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
    """What was seen of usage in the episode that goes on, or the last one."""

    episode: int = 0
    last: Millis = 0
    seen: int = 0
    told: bool = False

    def note(self, ahead: Millis, now: Millis) -> Notice | None:
        """Usage was `apart` by so much; what is to be told of it, once an episode."""
        if now - self.last > EPISODE:
            self.episode, self.seen, self.told = self.episode + 1, 0, False
        self.last = max(self.last, now)
        self.seen += 1
        if self.told or (ahead < 0 and self.seen < BELIEVED):
            return None
        self.told = True
        return Notice(
            kind=Kind.CLOCKS_APART,
            at=now,
            reason=f"times of usage are {says(ahead)}",
            numbers={"episode": self.episode, "ahead_ms": ahead},
        )
