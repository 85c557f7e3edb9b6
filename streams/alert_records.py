"""What stands on the alerts topic: alerts, and an operator's wish to have one sent again."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from rules.alerts import Alert
from rules.moment import Millis
from streams.delivery.step import Output
from streams.topics import ALERTS_PARTITION

LARGEST = 256 * 1024  # bytes of a record; an alert is about one thousandth of that, a digest of many models a tenth
RESEND = b"resend|"  # how the key of such a record begins; an alert's is its id
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


def read(key: bytes | None, value: bytes | None) -> Alert | Resend | None:
    """What a record says; None if it is neither."""
    if value is None or len(value) > LARGEST:
        return None
    kind: type[Alert | Resend] = Resend if (key or b"").startswith(RESEND) else Alert
    try:
        found = msgspec.json.decode(value, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, Resend) or _is_sane(found) else None


def _is_sane(alert: Alert) -> bool:
    numbers = (alert.at, alert.grant, alert.used, alert.limit, alert.pool_low, alert.pool_high, alert.charged_high)
    small = all(number is None or abs(number) <= _GREATEST for number in numbers)
    return small and _ID.fullmatch(alert.id) is not None
