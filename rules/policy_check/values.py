"""Readers of single values: what the file holds becomes what the policy keeps, or a BadValueError says why not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfoNotFoundError, available_timezones

from rules.calendar import Calendar
from rules.fault import meant, shown
from rules.moment import DAY, HOUR, MINUTE, SECOND, Millis
from rules.policy import Rate

Read = Callable[[Any], Any]
Shape = dict[str, Any]
"""What JSON Schema can say of the values a reader takes."""

_shapes: dict[Read, Shape] = {}
# What a policy reads as 2_000_000 is text to an editor that goes by YAML 1.2.
_GROUPED: Shape = {"type": "string", "pattern": r"^\d{1,3}(_\d{3})+$"}

MOST_TOKENS = 10**15
"""No provider gives a quadrillion tokens: beyond it somebody's key got stuck."""

_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND}
_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_RATE = re.compile(r"(\d{1,9})\s*/\s*(s|sec|second|min|minute|h|hour|d|day)")
_RATE_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def shaped(read: Read, shape: Shape) -> Read:
    """A reader with its shape."""
    _shapes[read] = shape
    return read


def shape_of(read: Read) -> Shape:
    """The shape of a reader; one that was given none takes anything, as far as a schema can say."""
    return _shapes.get(read, {})


class BadValueError(ValueError):
    """A value that cannot be meant; the message says what is accepted."""


def text(value: Any, most: int = 200) -> str:
    """Text that can be stored and shown: not empty, printable except for line breaks, at most `most` characters."""
    if not isinstance(value, str):
        raise BadValueError(f"must be text, found {shown(value)}")
    if not value.strip():
        raise BadValueError("must not be empty")
    if len(value) > most:
        raise BadValueError(f"is longer than {most:,} characters")
    if not value.replace("\n", "").replace("\t", "").isprintable():
        raise BadValueError("holds characters that cannot be printed")
    return value


def name(value: Any) -> str:
    """The name of a model or tenant: as providers write them, but without what separates the parts of our keys."""
    found = text(value)
    if found != found.strip() or not found.isprintable() or "|" in found:
        raise BadValueError("must not hold '|', line breaks, or spaces at its ends")
    return found


def plain_name(value: Any) -> str:
    """The name of something of ours (rule, channel, gateway), fit to be a label of a metric."""
    found = text(value)
    if not _PLAIN_NAME.fullmatch(found):
        raise BadValueError("must be 1 to 64 letters, digits, '_', '.' or '-', and begin with a letter or digit")
    return found


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValueError(f"must be true or false, found {shown(value)}")
    return value


def choice(known: Iterable[str]) -> Read:
    """One of a few words."""
    words = tuple(known)

    def read(value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        hint = meant(value, words) if isinstance(value, str) else f"; known: {', '.join(words)}"
        raise BadValueError(f"{shown(value)} is not known here{hint}")

    return shaped(read, {"enum": list(words)})


def whole(least: int, most: int) -> Read:
    """A whole number within bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadValueError(f"must be a whole number, found {shown(value)}")
        if value < 0 <= least:
            raise BadValueError(f"must not be negative, found {shown(value)}; leave the key out for the default")
        if not least <= value <= most:
            raise BadValueError(f"must be between {least:,} and {most:,}, found {shown(value)}")
        return value

    number = {"type": "integer", "minimum": least, "maximum": most}
    return shaped(read, {"anyOf": [number, _GROUPED]} if most >= 1_000 else number)


tokens = whole(0, MOST_TOKENS)


def exact(value: Any) -> Decimal:
    """A number as exact decimal, as it was written. Infinities and not-a-number are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise BadValueError(f"must be a number, found {shown(value)}")
    if isinstance(value, int) and value.bit_length() > 64:
        raise BadValueError("is a huge number")
    found = value if isinstance(value, Decimal) else Decimal(str(value))
    if not found.is_finite():
        raise BadValueError(f"must be a number, found {shown(value)}")
    return found


def duration(least: Millis, most: Millis) -> Read:
    """A length of time such as `30m`, `6h` or `1h30m`, in milliseconds."""

    def read(value: Any) -> Millis:
        if isinstance(value, int) and not isinstance(value, bool):
            raise BadValueError(f"{shown(value)} has no unit; write it like 45s, 30m or 6h")
        matched = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
        if matched is None or not any(matched.groups()):
            raise BadValueError(f"must be a length of time like 45s, 30m, 6h or 1h30m, found {shown(value)}")
        found = sum(int(part) * unit for part, unit in zip(matched.groups(), _UNITS.values(), strict=True) if part)
        if not least <= found <= most:
            raise BadValueError(f"must be between {brief(least)} and {brief(most)}, found {shown(value)}")
        return found

    said = f"a length of time like 45s, 30m or 1h30m, {brief(least)} to {brief(most)}"
    return shaped(read, {"type": "string", "pattern": rf"^\s*(?=\d){_DURATION.pattern}\s*$", "description": said})


def brief(length: Millis) -> str:
    """A length of time the way `duration` reads it, e.g. 1h30m."""
    parts = []
    for letter, unit in _UNITS.items():
        count, length = divmod(length, unit)
        if count:
            parts.append(f"{count}{letter}")
    return "".join(parts) or "0s"


def clock(value: Any) -> str:
    """A time of day as HH:MM."""
    if not isinstance(value, str) or not _CLOCK.fullmatch(value):
        raise BadValueError(f'must be a time of day from "00:00" to "23:59", found {shown(value)}')
    return value


def zone(value: Any) -> str:
    """A name of the IANA time zone database."""
    found = text(value)
    try:
        Calendar(found)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = meant(found, available_timezones()) or "; write it like Asia/Shanghai"
        raise BadValueError(f"{shown(found)} is no known time zone{hint}") from error
    return found


def rate(value: Any) -> Rate:
    """So many calls in a length of time, e.g. 10/min."""
    matched = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if matched is None:
        raise BadValueError(f"must be a rate like 10/min or 600/h, found {shown(value)}")
    if int(matched[1]) == 0:
        raise BadValueError("must allow at least one call; leave the key out for no limit")
    return Rate(calls=int(matched[1]), per=_RATE_UNITS[matched[2][0]])


_TEXT: Shape = {"type": "string", "minLength": 1}
for _read, _shape in (
    (text, _TEXT),
    (name, _TEXT),
    (plain_name, {"type": "string", "pattern": f"^{_PLAIN_NAME.pattern}$"}),
    (flag, {"type": "boolean"}),
    (exact, {"type": "number"}),
    (clock, {"type": "string", "pattern": f"^{_CLOCK.pattern}$", "description": "a time of day, HH:MM"}),
    (zone, {"type": "string", "minLength": 1, "description": "a name of the IANA time zone database"}),
    (rate, {"type": "string", "pattern": rf"^\s*{_RATE.pattern}\s*$", "description": "so many calls: 10/min, 600/h"}),
):
    shaped(_read, _shape)
