"""Duplicate events: an id that stood at one of the `window` offsets before it in its partition.

The answer depends on the log alone, so a restart that reads those offsets back decides as before. Producers key by
event id, so that a twin
lands in its twin's partition.
"""

from __future__ import annotations

from collections.abc import Sequence

# Producers retry within minutes. 50,000 offsets are 12 s at 4,000/s in one partition and hours for a small gateway; at
# about 180 bytes an id,
# eight partitions hold 72 MB at most.
WINDOW = 50_000


class DuplicateWindow:
    """Ids of the last `window` offsets of one partition, with the offset at which each stood last."""

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self._last: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._last)

    def seen(self, event_id: str, offset: int) -> bool:
        """Note that `event_id` stands at `offset`; true if it also stood at one of the offsets before, within the
        window."""
        last = self._last.pop(event_id, None)
        self._last[event_id] = offset  # at the end: the dict stays ordered by offset
        return last is not None and offset - self.window <= last < offset

    def all_new(self, event_ids: Sequence[str], offsets: Sequence[int]) -> bool:
        """Note many ids if none of them was seen before; false, and nothing is noted, if one may have been."""
        if not self._last.keys().isdisjoint(event_ids) or len(set(event_ids)) < len(event_ids):
            return False
        self._last.update(zip(event_ids, offsets, strict=True))
        return True

    def trim(self, position: int) -> None:
        """Forget what no offset from `position` on can ask for."""
        oldest = position - self.window
        gone = []
        for event_id, offset in self._last.items():
            if offset >= oldest:
                break
            gone.append(event_id)
        for event_id in gone:
            del self._last[event_id]
