"""A finding as data: how bad, where, what was seen, and what to do about it."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Level(IntEnum):
    """The worst one decides about the exit code."""

    FINE = 0
    NOTE = 1  # worth knowing
    WARNING = 2  # works, but not as it should
    ERROR = 3  # limits do not hold, or nothing works


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: Level
    part: str
    what: str
    advice: str = ""


def fine(part: str, what: str) -> Finding:
    return Finding(Level.FINE, part, what)


def note(part: str, what: str, advice: str = "") -> Finding:
    return Finding(Level.NOTE, part, what, advice)


def warning(part: str, what: str, advice: str) -> Finding:
    return Finding(Level.WARNING, part, what, advice)


def error(part: str, what: str, advice: str) -> Finding:
    return Finding(Level.ERROR, part, what, advice)
