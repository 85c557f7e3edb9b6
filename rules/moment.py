"""Instants: whole milliseconds since the Unix epoch, so that the hot path compares integers and nothing is ever
naive."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

Millis = int
"""An instant or a length of time in whole milliseconds; an instant counts from 1970-01-01T00:00:00Z."""

SECOND: Millis = 1_000
MINUTE: Millis = 60 * SECOND
HOUR: Millis = 60 * MINUTE
DAY: Millis = 24 * HOUR

# Sane instants: the first is before any gateway's log, the last is far enough to be a mistake and near enough for
# datetime.
EARLIEST: Millis = 946_684_800_000  # 2000-01-01T00:00:00Z
LATEST: Millis = 4_102_444_800_000  # 2100-01-01T00:00:00Z


def from_datetime(when: datetime) -> Millis:
    """The instant of an aware datetime; raises ValueError on a naive one."""
    if when.tzinfo is None:
        msg = f"a time without a zone: {when.isoformat()}"
        raise ValueError(msg)
    return round(when.timestamp() * 1000)


def to_datetime(at: Millis, zone: tzinfo = UTC) -> datetime:
    """The instant as an aware datetime in `zone`."""
    return datetime.fromtimestamp(at / 1000, tz=zone)


def to_rfc3339(at: Millis, zone: tzinfo = UTC) -> str:
    """The instant as RFC 3339 text with milliseconds and offset, e.g. `2026-08-13T11:08:00.123+08:00`."""
    return to_datetime(at, zone).isoformat(timespec="milliseconds")
