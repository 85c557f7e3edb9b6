"""When a record was sent, as far as its Kafka timestamp can be believed: on many topics that is the producer's word."""

from __future__ import annotations

from collections.abc import Sequence

from rules.moment import DAY, Millis
from streams.delivery.step import Record

APART: Millis = DAY
"""Clocks of producers, broker and worker may differ by so much; a timestamp further ahead is a mistake."""


def sent_at(stamp: Millis, told: Millis, now: Millis) -> Millis:
    """The instant at which a record telling of `told` was sent, by its timestamp `stamp` and our own clock.

    Nobody tells of a call before it has ended, so a stamp that is missing, zero or years old counts as `told`. A stamp
    years ahead would close every day there is; it counts as tomorrow at most.
    """
    return min(max(stamp, min(told, now)), now + APART)


def all_sent_at(records: Sequence[Record], told: Sequence[Millis], now: Millis) -> list[Millis]:
    """The same for many at once; for nearly all it is the stamp itself."""
    stamps = [record.timestamp for record in records]
    latest = now + APART
    return [stamp if at <= stamp <= latest else sent_at(stamp, at, now) for stamp, at in zip(stamps, told, strict=True)]
