"""What one scope did on one day, in numbers: an entry of the daily digest."""

from __future__ import annotations

from msgspec import Struct

from rules.calendar import Day
from rules.facts import Scope
from rules.moment import Millis

Span = tuple[int, int]
"""Tokens, at least and at most."""


class DayBook(Struct, frozen=True, kw_only=True):
    """A day that has ended, with all its usage. A span is None where an end of the pool was unknown."""

    scope: Scope
    day: Day
    used: int  # tokens
    requests: int = 0
    cache_hits: int = 0  # requests that an answer cache served: they used no tokens
    cached: int = 0  # prompt tokens that the provider took from its own cache
    saved: int = 0  # tokens of answers that an answer cache served; known of tenants
    refused: Millis = 0  # how long calls were to be refused
    returned: Span | None = None
    expired: Span | None = None
    unexplained: Span | None = None
    charged: Span | None = None
    left: Span | None = None  # in the free pool when the day ended

    @property
    def key(self) -> str:
        return f"day|{self.day}|{self.scope}"
