"""How often publishing does what, in seconds, and how it waits for a Redis that is away."""

from __future__ import annotations

from dataclasses import dataclass

from streams.publish.client import PATIENCE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The defaults are the product's; tests shorten them."""

    chunk: int = 100  # scopes in one pipeline: a change never waits behind more than that many
    patience: float = PATIENCE_SECONDS
    beat: float = 5.0
    audit: float = 60.0  # single keys that vanished (evicted, deleted) are found this soon
    renew: float = 3600.0  # of the 48 h that a decision lives
    refresh: float = 60.0  # legacy numbers are written at least this often
    survey_pause: float = 5.0
    survey_share: float = 0.02  # of the time may be spent surveying
    first_retry: float = 0.1
    last_retry: float = 2.0

    def survey_rest(self, took: float) -> float:
        """How long to let Redis rest after a survey that took `took` seconds."""
        return min(self.refresh, max(self.survey_pause, took / self.survey_share))

    def next_retry(self, pause: float, lasted: float) -> float:
        """The pause after `pause`, when the connection between them lasted `lasted` seconds."""
        return self.first_retry if lasted > self.beat else min(2 * pause, self.last_retry)
