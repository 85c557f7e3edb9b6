"""The Faust table of a step: Faust assigns its changelog and reads it; the rows stay as they are on the log.

Faust's own store decodes every row of the history one by one (some 13,000 a second). Rows here are kept raw, the
newest per key, handed over with `take` when a partition is complete, and decoded once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import faust
from faust.types import EventT

from streams.delivery.step import Record


class RawTable(faust.Table[str, Any]):
    """Raw rows by partition, between a rebalance and the step's taking them over; empty otherwise."""

    logger = logging.getLogger("faust.delivery")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._rows: dict[int, dict[bytes, bytes]] = {}

    def restore(self, partition: int, records: Iterable[Record]) -> None:
        """Apply a stretch of the changelog. Records without a key cannot stand on a compacted topic."""
        rows = self._rows.setdefault(partition, {})
        for record in records:
            if record.value is None:
                rows.pop(record.key or b"", None)
            else:
                rows[record.key or b""] = record.value

    def take(self, partition: int) -> Mapping[bytes, bytes]:
        """The rows of a partition; the table forgets them."""
        return self._rows.pop(partition, {})

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Nothing: records come through `restore`."""
