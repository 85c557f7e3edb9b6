"""What stands on the alerts topic: alerts, the books of days, and an operator's wish to have an alert sent again."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from rules.alerts import Alert
from rules.day_book import DayBook
from rules.moment import Millis
from streams.delivery.step import Output
from streams.topics import ALERTS_PARTITION

LARGEST = 256 * 1024  # bytes of a record; an alert is about one thousandth of that, a digest of many models a tenth
RESEND = b"resend|"  # how the key of such a record begins; an alert's is its id
DAY = b"day|"  # how the key of a day's books begins
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it goes into a header, and into a signed text where a dot separates
_GREATEST = 10**18  # of a number in an alert


class Resend(Struct, frozen=True, kw_only=True):
    """Send an alert again: to these channels, or where it did not arrive."""

    id: str
    at: Millis
    by: str
    channels: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        return RESEND + self.id.encode()


def to_output(topic: str, alert: Alert) -> Output:
    """The record of an alert."""
    return Output(topic, ALERTS_PARTITION, alert.id.encode(), msgspec.json.encode(alert))


def book_to_output(topic: str, book: DayBook) -> Output:
    """The record of a day's books, beside the alerts."""
    return Output(topic, ALERTS_PARTITION, book.key.encode(), msgspec.json.encode(book))


def read(key: bytes | None, value: bytes | None) -> Alert | Resend | DayBook | None:
    """What a record says; None if it is none of these."""
    if value is None or len(value) > LARGEST:
        return None
    try:
        found = msgspec.json.decode(value, type=_kind(key or b""))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if not isinstance(found, Alert) or _is_sane(found) else None


def _kind(key: bytes) -> type[Alert | Resend | DayBook]:
    return Resend if key.startswith(RESEND) else DayBook if key.startswith(DAY) else Alert


def _is_sane(alert: Alert) -> bool:
    numbers = (alert.at, alert.grant, alert.used, alert.limit, alert.pool_low, alert.pool_high, alert.charged_high)
    small = all(number is None or abs(number) <= _GREATEST for number in numbers)
    return small and _ID.fullmatch(alert.id) is not None
