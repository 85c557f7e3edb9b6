"""Where to go on in a log that may have been replaced, truncated or shortened by retention since the last flush."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from streams.delivery.rows import Place
from streams.delivery.step import Record


class Found(NamedTuple):
    """What a log looks like now: it holds offsets from `begin` to before `end`.

    `before` is the first record at or after the offset before the place's position, None when there is none to see.
    """

    begin: int
    end: int
    before: Record | None


class Resume(NamedTuple):
    """The next offset to handle. `lost`: there were records before it that nobody has handled."""

    position: int
    incarnation: int
    lost: bool = False
    replaced: bool = False


def fingerprint(record: Record) -> str:
    """Tells one record from another at the same offset: 64 bits over time, key and value."""
    digest = hashlib.blake2b(record.timestamp.to_bytes(8, "big", signed=True), digest_size=8)
    for part in (record.key, record.value):
        digest.update(b"-" if part is None else b"+%d:" % len(part) + part)
    return digest.hexdigest()


def resume(place: Place | None, found: Found) -> Resume:
    """The place to go on at.

    Offsets of another log mean nothing: a replaced log is a new incarnation, read from its start.
    """
    if place is None:
        return Resume(found.begin, 0)
    if found.begin > place.position:
        return Resume(found.begin, place.incarnation, lost=True)
    if found.end < place.position or _differs(place, found.before):
        return Resume(found.begin, place.incarnation + 1, replaced=True)
    return Resume(place.position, place.incarnation)


def _differs(place: Place, before: Record | None) -> bool:
    """Whether the record that was consumed last is another one now.

    Compaction or retention may have removed it: then nothing is known.
    """
    if not place.record or before is None or before.offset != place.position - 1:
        return False
    return fingerprint(before) != place.record
