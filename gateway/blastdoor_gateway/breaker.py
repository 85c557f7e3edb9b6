"""When to leave a failing Redis alone. Time is passed in, in seconds of any steady clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """After `failures` in a row nobody asks for a pause, then one call tries; the pause doubles up to `longest`.

    Without it every call would wait out its time and an outage of Redis would become one of the gateway.
    """

    failures: int = 3
    pause: float = 0.5
    longest: float = 5.0
    _failed: int = 0
    _closed_until: float = 0.0
    _trying: bool = False

    @property
    def is_open(self) -> bool:
        """Whether calls are kept from Redis."""
        return self._failed >= self.failures

    def lets(self, now: float) -> bool:
        """Whether this call may ask. While open, one at a time may, once the pause is over."""
        if not self.is_open:
            return True
        if self._trying or now < self._closed_until:
            return False
        self._trying = True
        return True

    def heard(self) -> None:
        """Redis answered."""
        self._failed, self._trying = 0, False

    def failed(self, now: float) -> None:
        """Redis did not."""
        self._failed, self._trying = self._failed + 1, False
        if self.is_open:
            self._closed_until = now + min(self.longest, self.pause * 2.0 ** min(self._failed - self.failures, 16))

    def abandoned(self) -> None:
        """The one who asked went away before there was an answer."""
        self._trying = False

    def wait(self, now: float) -> float:
        """Seconds until somebody may try."""
        return max(0.0, self._closed_until - now) if self.is_open else 0.0
