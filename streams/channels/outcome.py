"""Where one alert stands with one channel: what is kept in state and counted in metrics."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.moment import Millis


class Progress(StrEnum):
    """Label values of a metric: the list is closed."""

    WAITING = "waiting"  # not delivered yet; the last attempt, if any, failed
    DELIVERED = "delivered"
    REFUSED = "refused"  # another attempt cannot succeed
    GAVE_UP = "gave_up"  # tried for long enough
    UNSENT = "unsent"  # never tried: no such channel, or too many waiting
    MUTED = "muted"  # on purpose: a route sends it to nobody, or it means nothing to the channel


UNDELIVERED = frozenset({Progress.REFUSED, Progress.GAVE_UP, Progress.UNSENT})


class Outcome(Struct, frozen=True):
    """`at`: when this became so; `detail`: why, without secrets."""

    progress: Progress
    at: Millis
    attempts: int = 0
    detail: str = ""

    @property
    def final(self) -> bool:
        return self.progress is not Progress.WAITING

    @property
    def undelivered(self) -> bool:
        """Somebody should have had it and has not, and nothing more is done about it."""
        return self.progress in UNDELIVERED
