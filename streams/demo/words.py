"""Numbers, times and actions as the demo writes them."""

from __future__ import annotations

from datetime import tzinfo

from rich.text import Text

from rules.moment import Millis, to_datetime

ACTIONS = {
    "allow": "bold green",
    "warn": "bold yellow",
    "degrade": "bold yellow",
    "block": "bold red",
    "kill": "bold red",
    "unknown": "bold magenta",
}


def number(value: int | None) -> str:
    """With thousands separators."""
    return "unknown" if value is None else f"{value:,}"


def clock(at: Millis, zone: tzinfo) -> str:
    """`08-13 11:22:00`."""
    return to_datetime(at, zone).strftime("%m-%d %H:%M:%S")


def date(at: Millis, zone: tzinfo) -> str:
    return to_datetime(at, zone).strftime("%m-%d")


def time_of_day(at: Millis, zone: tzinfo) -> str:
    return to_datetime(at, zone).strftime("%H:%M:%S")


def heading(text: str) -> Text:
    return Text(text, style="bold underline")
