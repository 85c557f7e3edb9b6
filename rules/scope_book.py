"""What a judge asks of a book, whatever kind of scope it is about. A kind of scope is one class with these methods and
one line in `judge.KINDS`."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from msgspec import Struct

from rules.facts import Heard, Scope, Stored
from rules.marks import Marks
from rules.moment import Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.rulebook import Rulebook
from rules.ruling import Ruling


class Situation(NamedTuple):
    """What a book rules from beside what it was told: the instant, how far usage is complete, the rules.

    `anew`: everything has to be looked at; otherwise nothing but sums of usage came since the last ruling.
    """

    now: Millis
    marks: Marks
    rulebook: Rulebook
    anew: bool = True


class Book(Protocol):
    """Everything a judge knows of one scope. Taking the same again changes nothing."""

    @property
    def scope(self) -> Scope: ...

    @property
    def wakes(self) -> Millis:
        """Before this instant neither time alone nor a watermark changes its ruling: it is ruled on only when it was
        told something. 0: awake: ruled on with every tick."""

    def adopt(self, policy: Policy) -> None:
        """Go on under this policy; the accounting day is the same. It is ruled on right afterwards."""

    def merge(self, fact: Stored) -> bool:
        """Take an absolute number that is stored under its own key; says whether it was news."""

    def hear(self, heard: Heard) -> None:
        """Take a reading, a calibration or a control."""

    def tidy(self, now: Millis) -> list[str]:
        """Close what nothing can change any more; returns the keys of rows that may go."""

    def is_over(self, until: Millis) -> bool:
        """Whether by `until` nobody had told anything for so long that it may be forgotten."""

    def keys(self) -> list[str]:
        """Of the rows that were merged and are kept."""

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        """Rule. `before`: the ruling in force, None after a start."""

    def stored(self) -> Struct:
        """The book's own row as it stands, beside what it merged."""
