"""When a record was received, as far as our own clock bears out what the record carries."""

from __future__ import annotations

from collections.abc import Callable

from rules.moment import SECOND, Millis
from streams.delivery.step import Moment, Record
from streams.stamps import sent_at
from streams.wall_clock import wall_clock

ANSWER_AGE: Millis = 2 * SECOND  # of the broker's answer by which a partition counts as read to its end


class Receipt:
    """The receipts of one partition.

    A record's timestamp is its producer's as a rule, and may be as wrong as what it tells. But a record was received by
    now, and not before the partition was last read to its end.
    """

    def __init__(self, clock: Callable[[], Millis] = wall_clock) -> None:
        self._clock = clock
        self._read_to_end: Millis = 0

    def of(self, record: Record, told: Millis) -> Millis:
        """When a record that is being handled, and tells of `told`, was received."""
        now = self._clock()
        return max(self._read_to_end, min(sent_at(record.timestamp, told, now), now))

    def reach(self, moment: Moment) -> None:
        """A flush says where the partition stands."""
        if moment.at_end:
            self._read_to_end = max(self._read_to_end, moment.now - ANSWER_AGE)
