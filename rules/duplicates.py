"""Duplicate events: an id that stood at one of the `window` offsets before it in its partition.

The answer depends on the log alone, so a restart that reads those offsets back decides as before. Producers key by
event id, so that a twin lands in its twin's partition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

# Producers retry within minutes. 50,000 offsets are 12 s at 4,000/s in one partition and hours for a small gateway; at
# some 200 bytes an id eight partitions hold 80 MB at most, whatever the ids look like.
WINDOW = 50_000
LONGEST = 64  # characters; of longer ids a digest is kept
_BITS = 16
_MASK = (1 << _BITS) - 1


def content(model: str, tokens: int) -> int:
    """What tells two events of one id apart, in 16 bits; means nothing to another process."""
    return (hash(model) ^ tokens) & _MASK


class DuplicateWindow:
    """Ids of the last `window` offsets of one partition, with the offset at which each stood last and what it said."""

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.differing = 0  # duplicates that said something else than the event before
        self._last: dict[str | bytes, int] = {}

    def __len__(self) -> int:
        return len(self._last)

    def seen(self, event_id: str, offset: int, said: int = 0) -> bool:
        """Note that `event_id` stands at `offset`; true if it also stood at one of the offsets before, within the
        window. `said`: see `content`."""
        key = _short(event_id)
        held = self._last.pop(key, None)
        self._last[key] = offset << _BITS | said  # at the end: the dict stays ordered by offset
        if held is None or not offset - self.window <= held >> _BITS < offset:
            return False
        self.differing += held & _MASK != said
        return True

    def all_new(self, event_ids: Sequence[str], offsets: Sequence[int], said: Iterable[int]) -> bool:
        """Note many ids if none of them was seen before; false, and nothing is noted, if one may have been."""
        keys: Sequence[str | bytes] = event_ids
        if len(max(event_ids, key=len, default="")) > LONGEST:
            keys = [_short(event_id) for event_id in event_ids]
        if not self._last.keys().isdisjoint(keys) or len(set(keys)) < len(keys):
            return False
        held = [offset << _BITS | told for offset, told in zip(offsets, said, strict=True)]
        self._last.update(zip(keys, held, strict=True))
        return True

    def trim(self, position: int) -> None:
        """Forget what no offset from `position` on can ask for."""
        oldest = (position - self.window) << _BITS
        gone = []
        for key, held in self._last.items():
            if held >= oldest:
                break
            gone.append(key)
        for key in gone:
            del self._last[key]


def _short(event_id: str) -> str | bytes:
    return event_id if len(event_id) <= LONGEST else hashlib.blake2b(event_id.encode(), digest_size=16).digest()
