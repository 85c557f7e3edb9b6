"""Lots of calls that are read and summed elsewhere than here: compiled code does that for many calls at once. What is
done with the sums is the meter's, wherever they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from rules.calendar import Day
from rules.facts import Sums
from rules.moment import Millis


class Group(NamedTuple):
    """One model's calls of one minute. `offset`: of the last of them."""

    model: str
    minute: int
    offset: int
    sums: Sums


class Total(NamedTuple):
    """A gateway's own total of the day, `today`, as a call tells it. `given`: its name for the model."""

    given: str
    model: str
    at: Millis
    today: int
    tokens: int
    key_hash: str


class Counted(NamedTuple):
    """What became of a lot. Groups stand in the order of their minutes, totals in the order of the log."""

    duplicates: int
    differing: int
    groups: Sequence[Group]
    totals: Sequence[Total]


class Lot(Protocol):
    """Calls that follow one another in the log. `first`, `last`: when they ended, of all; `newest`: of the one that is
    last. `sent`: when the first one was sent, and the latest of all; None: no clock is moved by it."""

    first: Millis
    last: Millis
    newest: Millis
    sent: tuple[Millis, Millis] | None
    offsets: Sequence[int]

    def count(self, day: Day | None, canonical: Callable[[str], str]) -> Counted:
        """Tell duplicates apart and sum the others. `day`: on which all of them ended; None: tenants are not wanted."""
