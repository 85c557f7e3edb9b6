"""A model's usage by minute, merged from all source partitions into one curve."""

from __future__ import annotations

from rules.curve import Curve, Folded
from rules.facts import Minutes
from rules.moment import HOUR, MINUTE, Millis

MINUTES_AN_HOUR = HOUR // MINUTE


class MinuteSheets:
    """The hours of each source partition, and the curve they add up to."""

    def __init__(self, folded: Folded | None = None) -> None:
        self.curve = Curve(folded)
        self._sheets: dict[tuple[int, int], Minutes] = {}  # (hour, partition)

    def merge(self, sheet: Minutes) -> bool:
        """Take an hour of one partition unless a later state of it came first."""
        known = self._sheets.get((sheet.hour, sheet.partition))
        if known is not None and (known.incarnation, known.offset) >= (sheet.incarnation, sheet.offset):
            return False
        self._sheets[sheet.hour, sheet.partition] = sheet
        self._add_up(sheet, known.tokens if known else None)
        return True

    def keys(self) -> list[str]:
        """Of the sheets that are not folded yet."""
        return [sheet.key for sheet in self._sheets.values()]

    def fold(self, now: Millis, keep: Millis) -> list[str]:
        """Fold minutes older than `keep`; returns the keys of the sheets that are no longer needed."""
        self.curve.fold(now, keep)
        first = (now - keep) // HOUR
        return [self._sheets.pop(at).key for at in [at for at in self._sheets if at[0] < first]]

    def _add_up(self, sheet: Minutes, before: list[int] | None) -> None:
        others = [
            other.tokens
            for (hour, partition), other in self._sheets.items()
            if hour == sheet.hour and partition != sheet.partition
        ]
        for index in range(MINUTES_AN_HOUR):
            if before is None or sheet.tokens[index] != before[index]:
                tokens = sheet.tokens[index] + sum(other[index] for other in others)
                self.curve.set(sheet.hour * MINUTES_AN_HOUR + index, tokens)
