"""Whether a worker is catching up: then all its partitions tell what they know once a second, and no more often.

What could be told sooner is old news in a moment, and telling it takes time from catching up.
"""

from __future__ import annotations

import time

BEHIND = 20_000  # records ahead of a partition, which take some 60 ms to 0.2 s: fewer may be under way in a busy second
LASTS_SECONDS = 2.0  # after a partition was last seen that far behind: flushes of many rows may take half of it


class Backlog:
    """One for all partitions of a worker, as they share one processor."""

    def __init__(self) -> None:
        self._until = 0.0

    def note(self, position: int, end: int | None) -> None:
        """A partition stands here, and its log goes on to there."""
        if end is not None and end - position > BEHIND:
            self._until = time.monotonic() + LASTS_SECONDS

    @property
    def lasts(self) -> bool:
        """Whether there is one, or was a moment ago."""
        return time.monotonic() < self._until
