"""What every channel can do: take a note, answer what became of it. Expected failures are answers, not exceptions.

A note tells one alert, or several that wait at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

from rules.alerts import Alert
from streams.channels.layout import Message


@dataclass(frozen=True, slots=True)
class Note:
    """An alert with its words. `alert.id` is the same for every attempt, so that a receiver can tell a repeat."""

    alert: Alert
    message: Message
    parts: tuple[Note, ...] = ()  # of a message about several alerts: each with words of its own

    @property
    def told(self) -> tuple[Note, ...]:
        """Every alert with words of its own."""
        return self.parts or (self,)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        return tuple(note.alert for note in self.told)


class Result(StrEnum):
    """What became of one attempt."""

    DELIVERED = "delivered"  # the receiver said so
    RETRY = "retry"  # not delivered, or nobody knows; another attempt may succeed
    REFUSED = "refused"  # another attempt of the same note cannot succeed


@dataclass(frozen=True, slots=True)
class Sent:
    """The answer to one attempt. `detail` is short and never holds a URL, a secret or text that could."""

    result: Result
    detail: str = ""
    after: float | None = None  # seconds the receiver asked us to wait
    throttled: bool = False  # the receiver has too much to do: the whole channel is to pause
    gone: bool = False  # the receiver wants nothing more: the whole channel is to close
    doubtful: bool = False  # the receiver was heard and did not say why: it may be what the note holds

    @classmethod
    def delivered(cls) -> Self:
        return cls(Result.DELIVERED)

    @classmethod
    def retry(cls, detail: str, *, after: float | None = None, throttled: bool = False, doubtful: bool = False) -> Self:
        return cls(Result.RETRY, detail, after, throttled, doubtful=doubtful)

    @classmethod
    def refused(cls, detail: str, *, gone: bool = False) -> Self:
        return cls(Result.REFUSED, detail, gone=gone)


class Sender(Protocol):
    """One channel. `send` may be called by several tasks at once.

    `most`: alerts that one message may hold. `reports`: whether a report such as the digest means anything to it.
    """

    @property
    def name(self) -> str: ...

    @property
    def most(self) -> int: ...

    @property
    def reports(self) -> bool: ...

    async def send(self, note: Note) -> Sent: ...
