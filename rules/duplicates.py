"""Duplicate events: an id that stood at one of the `window` offsets before it in its partition.

The answer depends on the log alone, so a restart that reads those offsets back decides as before. Producers key by
event id, so that a twin lands in its twin's partition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Protocol

from rules.calls import Call

# Producers retry within minutes. 50,000 offsets are 12 s at 4,000/s in one partition and hours for a small gateway; at
# some 200 bytes an id eight partitions hold 90 MB at most, whatever the ids look like.
WINDOW = 50_000
# Ids are forgotten many at a time: the first of a dict stand behind those already deleted, and to get past them costs.
SPARE = 8
LONGEST = 64  # characters; of longer ids a digest is kept
_BITS = 16
_MASK = (1 << _BITS) - 1


def contents(calls: Iterable[Call]) -> list[int]:
    """What tells two events of one id apart, in 16 bits; means nothing to another process."""
    return [(hash(call.model) ^ (call.total_tokens or 0)) & _MASK for call in calls]


class Window(Protocol):
    """What the meter asks of a window, wherever its ids are held."""

    differing: int
    """Duplicates that said something else than the event before."""

    def of_calls(self, calls: Sequence[Call], offsets: Sequence[int]) -> list[bool]:
        """Note calls at their offsets; which of them are no duplicates."""

    def trim(self, position: int) -> None:
        """Forget what no offset from `position` on can ask for."""


class DuplicateWindow:
    """Ids of the last `window` offsets of one partition, with the offset at which each stood last and what it said."""

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self.differing = 0  # duplicates that said something else than the event before
        self._last: dict[str | bytes, int] = {}

    def __len__(self) -> int:
        return len(self._last)

    def fresh(self, event_ids: Sequence[str], offsets: Iterable[int], said: Iterable[int]) -> list[bool]:
        """Note that each id stands at its offset; which of them stood at none of the offsets before, within the window.

        `said`: see `contents`.
        """
        last, take, window, fresh = self._last, self._last.pop, self.window, []
        keys: Sequence[str | bytes] = event_ids
        if len(max(event_ids, key=len, default="")) > LONGEST:
            keys = [_short(event_id) for event_id in event_ids]
        for key, offset, told in zip(keys, offsets, said, strict=True):
            held = take(key, None)
            last[key] = offset << _BITS | told  # at the end: the dict stays ordered by offset
            if held is None or not offset - window <= held >> _BITS < offset:
                fresh.append(True)
            else:
                fresh.append(False)
                self.differing += held & _MASK != told
        return fresh

    def of_calls(self, calls: Sequence[Call], offsets: Sequence[int]) -> list[bool]:
        """The same of calls."""
        return self.fresh([call.id for call in calls], offsets, contents(calls))

    def trim(self, position: int) -> None:
        """Forget what no offset from `position` on can ask for, once it is an eighth of the window."""
        if len(self._last) <= self.window + self.window // SPARE:
            return
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
