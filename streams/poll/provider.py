"""What can be asked for balances: the interface that every kind of provider has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple, Protocol

from rules.moment import Millis
from rules.providers.answer import Answer, Failure


class Provider(Protocol):
    """One account or source. `ask` never raises for what the other side does; a failure is no reading."""

    async def ask(self) -> Answer | Failure:
        """One whole answer, all pages of it."""

    async def close(self) -> None:
        """Give connections back."""


class Surroundings(NamedTuple):
    """What a provider takes from outside: the zone of times without one, the clock, and waiting."""

    zone: tzinfo
    clock: Callable[[], Millis]
    sleep: Callable[[float], Awaitable[object]]
    folder: Path  # relative paths begin here


class MissingExtraError(RuntimeError):
    """A provider needs a package that is not installed."""
