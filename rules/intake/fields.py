"""What a single field may hold, whatever the format: bounds of numbers, names and times.

Rule 1: inside this package a misfit travels as the exception `Unfit`; the reader hands it out as data (`Rejected`).
Rule 2: a detail names the field and never repeats more than `EXCERPT` characters of what was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Annotated, cast

from msgspec import Meta

from rules.moment import EARLIEST, LATEST, Millis
from rules.records import Reason, Rejected

# No call comes near: the largest context windows hold a few million tokens. Far below 2^63: sums cannot overflow.
MOST_TOKENS = 10**12
LONGEST_NAME = 512
MOST_PACKAGES = 500  # of one model in one reading; a package a day for a month is usual
LONGEST_TEXT = 4096
EXCERPT = 80

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, Meta(max_length=LONGEST_NAME)]
Prose = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
Tokens = Annotated[int, Meta(ge=0, le=MOST_TOKENS)]
When = datetime | float
"""A time as it is written: RFC 3339 text, or a number of seconds since the epoch."""

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_fixed: dict[tzinfo | None, Millis] = {}
"""Written offsets met so far; there are only as many as minutes in two days."""
_FIRST_SECOND, _LAST_SECOND = EARLIEST / 1000, LATEST / 1000


class Unfit(Exception):  # noqa: N818
    """What was sent cannot be used; `rejected` says why. It never leaves this package."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.rejected = Rejected(reason, detail)


def instant(field: str, when: When, zone: tzinfo) -> Millis:
    """A written time as an instant; a time without a zone is one of `zone`. Digits beyond milliseconds are cut off."""
    if isinstance(when, float):
        if not _FIRST_SECOND <= when < _LAST_SECOND:
            raise Unfit(
                Reason.BAD_TIME,
                f"{field}: {when:.15g} is not within the years 2000 to 2099; an epoch time is given in seconds",
            )
        return round(when * 1000)
    ahead = _fixed.get(when.tzinfo)
    if ahead is None:
        ahead = _ahead(when, zone)
    # By hand: to subtract two datetimes and take the difference apart costs twice as much.
    minutes = ((when.toordinal() - _EPOCH_DAY) * 24 + when.hour) * 60 + when.minute
    at = minutes * 60_000 + when.second * 1000 + when.microsecond // 1000 - ahead
    if not EARLIEST <= at < LATEST:
        raise Unfit(Reason.BAD_TIME, f"{field}: {when.isoformat()} is not within the years 2000 to 2099")
    return at


def instants(field: str, whens: Sequence[When], zone: tzinfo) -> list[Millis]:
    """The same of many: where all are texts with an offset, by their distance from the first of them."""
    begin = whens[0] if whens else None
    if isinstance(begin, datetime) and type(begin.tzinfo) is timezone:
        begin = begin.replace(microsecond=0)
        start = instant(field, begin, zone)
        with suppress(TypeError):  # a number, or a time without a zone
            ats: list[Millis] = [start + (when - begin) // _MILLISECOND for when in cast("list[datetime]", whens)]
            if min(ats) >= EARLIEST and max(ats) < LATEST:
                return ats
    return [instant(field, when, zone) for when in whens]


def _ahead(when: datetime, zone: tzinfo) -> Millis:
    """How far the clocks of the time's own zone, or else of `zone`, are ahead of UTC then."""
    aware = when if when.tzinfo is not None else when.replace(tzinfo=zone)
    ahead = (aware.utcoffset() or timedelta()) // _MILLISECOND
    if type(when.tzinfo) is timezone:
        _fixed[when.tzinfo] = ahead
    return ahead


def optional_instant(field: str, when: When | None, zone: tzinfo) -> Millis | None:
    """The same where the field may be missing."""
    return None if when is None else instant(field, when, zone)


def excerpt(text: str) -> str:
    """The beginning of what was sent, fit for a log: short, quoted, without control characters."""
    return repr(text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…")


def check_name(field: str, name: str) -> None:
    """A name is a part of keys, metrics and alerts: it must show something and hold no control characters."""
    if name.isspace():
        raise Unfit(Reason.BAD_VALUE, f"{field}: consists of white space")
    if has_control(name):
        raise Unfit(Reason.BAD_VALUE, f"{field}: holds a control character")


def has_control(text: str) -> bool:
    """Whether a control character (line break, NUL, escape, …) is in `text`."""
    return any(ord(character) < 32 or ord(character) == 127 for character in text)
