"""Records that cannot be used, kept with the reason. The key is the record's origin, so reading it again overwrites
and never doubles."""

from __future__ import annotations

from rules.dead_letter import DeadLetter
from rules.records import Rejected
from streams.delivery.step import Output, Record
from streams.metrics import Metrics


class DeadLetters:
    """The way of refused records of one source topic."""

    def __init__(self, topic: str, source: str, metrics: Metrics) -> None:
        self._topic = topic
        self._source = source
        self._metrics = metrics

    def keep(self, partition: int, record: Record, rejected: Rejected) -> Output:
        """The dead letter of one record, counted by its reason."""
        self._metrics.dead_letters.labels(reason=rejected.reason.value).inc()
        origin = f"{self._source}/{partition}/{record.offset}"
        letter = DeadLetter.of(record.value or b"", rejected, origin, record.timestamp)
        return Output(self._topic, None, origin.encode(), letter.encode())
