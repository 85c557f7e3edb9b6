"""What the parts of a worker report, as Prometheus metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache

from rules.moment import Millis
from streams.channels.outcome import UNDELIVERED, Progress
from streams.delivery.step import Observer as DeliveryObserver
from streams.metrics import Metrics
from streams.notify import COUNTED, NOWHERE
from streams.publish.observer import Cause, LegacyOutcome, Outcome, Trouble


class DeliveryMetrics(DeliveryObserver):
    """How far the steps are, and how long their flushes take."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._handled = cache(
            lambda step: (metrics.records.labels(step=step), metrics.handling_seconds.labels(step=step))
        )

    def rebalanced(self, kept: int, taken: int) -> None:  # noqa: ARG002
        self._metrics.rebalances.inc()

    def assigned(self, step: str, partition: int, rows: int, lost: bool, seconds: float) -> None:  # noqa: ARG002
        self._metrics.partitions.labels(step=step).inc()
        if lost:
            self._metrics.lost.labels(step=step).inc()

    def revoked(self, step: str, partition: int) -> None:
        self._metrics.partitions.labels(step=step).dec()
        for gauge in (self._metrics.position, self._metrics.lag):  # another worker tells them now
            with suppress(KeyError):
                gauge.remove(step, str(partition))

    def flushed(self, step: str, partition: int, outputs: int, rows: int, seconds: float) -> None:  # noqa: ARG002
        self._metrics.flush_seconds.labels(step=step).observe(seconds)

    def handled(self, step: str, partition: int, records: int, seconds: float) -> None:  # noqa: ARG002
        counted, took = self._handled(step)
        counted.inc(records)
        took.inc(seconds)


class PublishMetrics:
    """What became of writes to Redis."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        writes = metrics.redis_writes
        self._decisions = {outcome: writes.labels(keys="decision", outcome=outcome.value) for outcome in Outcome}
        self._legacies = {outcome: writes.labels(keys="legacy", outcome=outcome.value) for outcome in LegacyOutcome}
        for trouble in Trouble:
            metrics.redis_troubles.labels(kind=trouble.value)
        for cause in Cause:
            metrics.redis_again.labels(cause=cause.value)

    def decision(self, outcome: Outcome, waited: Millis | None) -> None:
        self._decisions[outcome].inc()
        if waited is not None:
            self._metrics.publish_seconds.observe(waited / 1000)

    def arrived(self, taken: Millis) -> None:
        self._metrics.event_seconds.observe(taken / 1000)

    def legacy(self, outcome: LegacyOutcome) -> None:
        self._legacies[outcome].inc()

    def again(self, cause: Cause, scopes: int) -> None:
        self._metrics.redis_again.labels(cause=cause.value).inc(scopes)

    def trouble(self, kind: Trouble) -> None:
        self._metrics.redis_troubles.labels(kind=kind.value).inc()

    def reachable(self, up: bool) -> None:
        self._metrics.redis_up.set(up)

    def waiting(self, scopes: int) -> None:
        self._metrics.redis_waiting.set(scopes)


class NotifyMetrics:
    """What became of alerts, by channel."""

    def __init__(self, metrics: Metrics, channels: Iterable[str]) -> None:
        self._metrics = metrics
        self._channels = {*channels, NOWHERE}
        for channel in self._channels:
            for outcome in COUNTED:
                metrics.alerts.labels(channel=channel, outcome=outcome)
        self.kept({})

    def counted(self, channel: str, outcome: str) -> None:
        self._metrics.alerts.labels(channel=channel, outcome=outcome).inc()

    def kept(self, tally: Mapping[tuple[str, Progress], int]) -> None:
        self._channels |= {channel for channel, _ in tally}
        for channel in self._channels:
            waiting = tally.get((channel, Progress.WAITING), 0)
            self._metrics.alerts_waiting.labels(channel=channel).set(waiting)
            missed = sum(tally.get((channel, progress), 0) for progress in UNDELIVERED)
            self._metrics.alerts_undelivered.labels(channel=channel).set(missed)
