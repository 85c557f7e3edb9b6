"""Finished calls as the meter counts them, whether they were made into records or left as they were decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rules.moment import Millis


class Call(Protocol):
    """What is counted of a finished call: a `Usage`, or an event as it is written, where what is absent is None."""

    @property
    def id(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def total_tokens(self) -> int | None: ...
    @property
    def prompt_tokens(self) -> int | None: ...
    @property
    def completion_tokens(self) -> int | None: ...
    @property
    def cached_tokens(self) -> int | None: ...
    @property
    def key_hash(self) -> str | None: ...
    @property
    def status(self) -> str | None: ...
    @property
    def cache_hit(self) -> bool | None: ...
    @property
    def estimated(self) -> bool | None: ...
    @property
    def source(self) -> str | None: ...
    @property
    def today(self) -> int | None: ...


class Calls(NamedTuple):
    """Calls that follow one another, and when each of them ended."""

    calls: Sequence[Call]
    ats: Sequence[Millis]
