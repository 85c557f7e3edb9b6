"""All metric names of a poller, with meaning and unit."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rules.polling import Why
from rules.providers.answer import Trouble


class PollMetrics:
    """The metrics of a poller."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = to = registry or CollectorRegistry()
        self.polls = Counter("blastdoor_polls", "Polls begun, by what made them due.", ["provider", "why"], registry=to)
        self.poll_failures = Counter(
            "blastdoor_poll_failures", "Polls that brought no reading.", ["provider", "trouble"], registry=to
        )
        self.poll_seconds = Histogram(
            "blastdoor_poll_seconds",
            "From the question to the whole answer.",
            ["provider"],
            buckets=(0.5, 1, 2.5, 5, 10, 30, 60),
            registry=to,
        )
        self.answered = Gauge(
            "blastdoor_poll_answer_timestamp_seconds", "When the provider answered last.", ["provider"], registry=to
        )
        self.stopped = Gauge(
            "blastdoor_poll_stopped", "1 while no poll is tried: the operator has to act.", ["provider"], registry=to
        )
        self.leading = Gauge(
            "blastdoor_poll_leading", "1 where this process is the one that asks.", ["provider"], registry=to
        )
        self.available = Gauge(
            "blastdoor_balance_tokens", "Tokens left as the provider told last.", ["provider", "model"], registry=to
        )
        self.unplaced = Gauge(
            "blastdoor_unplaced_packages", "Packages that count for no model.", ["provider"], registry=to
        )

    def expect(self, provider: str) -> None:
        """Let a provider's label values exist from the start."""
        for why in Why:
            self.polls.labels(provider=provider, why=why.value)
        for trouble in Trouble:
            self.poll_failures.labels(provider=provider, trouble=trouble.value)
        self.stopped.labels(provider=provider).set(0)
        self.leading.labels(provider=provider).set(0)
