"""How numbers and times are written in an explanation: short, in the zone of the policy, the day named where it is
another."""

from __future__ import annotations

import textwrap
from datetime import tzinfo
from pathlib import PurePath

from rules.moment import HOUR, MINUTE, SECOND, Millis, to_datetime

ID_WHOLE, ID_SHOWN = 20, 12
WIDTH = 80
TIED = "\u00a0"  # a space at which no line is folded


class Times:
    """Instants as a reader of one day's decision wants them."""

    def __init__(self, zone: tzinfo, day: str) -> None:
        self.zone = zone
        self._day = day

    def whole(self, at: Millis) -> str:
        """`2026-08-13 11:22:00 +0800`."""
        return to_datetime(at, self.zone).strftime("%Y-%m-%d %H:%M:%S %z")

    def clock(self, at: Millis) -> str:
        """`11:22:00`, with the date where it is another day's."""
        return self._dated(at, "%H:%M:%S")

    def minute(self, at: Millis) -> str:
        """`11:22`, with the date where it is another day's."""
        return self._dated(at, "%H:%M")

    def _dated(self, at: Millis, form: str) -> str:
        when = to_datetime(at, self.zone)
        return when.strftime(form if when.date().isoformat() == self._day else f"%m-%d {form}")


def number(value: int | None) -> str:
    """With thousands separators; a question mark for what is unknown."""
    return "?" if value is None else f"{value:,}"


def span(length: Millis) -> str:
    """A length of time: `30 min`, `3 h 10 min`, `20 s`."""
    if length < MINUTE:
        return f"{length // SECOND} s"
    hours, minutes = divmod(length // MINUTE, HOUR // MINUTE)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part)


def short(name: str) -> str:
    """An id as far as a person compares it."""
    return name if len(name) <= ID_WHOLE else f"{name[:ID_SHOWN]}…"


def place(origin: str) -> str:
    """Where something stood: a file by its name, a Kafka position whole."""
    path, _, line = origin.rpartition(":")
    return f"{PurePath(path).name}:{line}" if path and line.isdigit() else origin


def amount(low: int, high: int) -> str:
    """Tokens between two ends."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def folded(text: str, rest: str = "  ") -> list[str]:
    """The lines of a text; all but the first begin with `rest`."""
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=rest, break_on_hyphens=False)
    return [line.replace(TIED, " ") for line in lines]
