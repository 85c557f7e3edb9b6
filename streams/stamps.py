"""When a record was sent, as far as its Kafka timestamp can be believed: on many topics that is the producer's word."""

from __future__ import annotations

from rules.moment import DAY, Millis

APART: Millis = DAY
"""Clocks of producers, broker and worker may differ by so much; a timestamp further ahead is a mistake."""


def sent_at(stamp: Millis, told: Millis, now: Millis) -> Millis:
    """The instant at which a record telling of `told` was sent, by its timestamp `stamp` and our own clock.

    Nobody tells of a call before it has ended, so a stamp that is missing, zero or years old counts as `told`. A stamp
    years ahead would close every day there is; it counts as tomorrow at most.
    """
    return min(max(stamp, min(told, now)), now + APART)
