"""How far the source partitions vouch: the completeness that the high end of the bounds needs."""

from __future__ import annotations

from collections.abc import Mapping

from rules.facts import Watermark
from rules.moment import Millis


class Marks:
    """The newest watermark of every source partition. `usage_partitions` says how many must vouch for usage."""

    def __init__(self, usage_partitions: int) -> None:
        self._usage_partitions = usage_partitions
        self.known: dict[tuple[str, int], Watermark] = {}

    def merge(self, mark: Watermark) -> bool:
        """Take a watermark unless a later one of its partition came first."""
        known = self.known.get((mark.source, mark.partition))
        if known is not None and _order(known) >= _order(mark):
            return False
        if known is not None and mark.at < known.at:
            mark.at = known.at  # a new owner's clock may be behind; what was vouched for stays
        self.known[mark.source, mark.partition] = mark
        return True

    def complete_until(self) -> Millis | None:
        """All usage before this instant has arrived; None while a partition has never vouched."""
        marks = self._usage()
        return min(mark.at for mark in marks) if len(marks) == self._usage_partitions else None

    def since(self) -> Millis | None:
        """Usage is metered without a gap from here on; None while a partition has never vouched."""
        marks = self._usage()
        return max(mark.since for mark in marks) if len(marks) == self._usage_partitions else None

    def positions(self) -> Mapping[str, int]:
        """Where in Kafka each usage partition stands, for explanations."""
        return {str(mark.partition): mark.position for mark in self._usage()}

    def _usage(self) -> list[Watermark]:
        return [mark for (source, _), mark in self.known.items() if source == "usage"]


def _order(mark: Watermark) -> tuple[int, int, Millis]:
    return mark.incarnation, mark.position, mark.at
