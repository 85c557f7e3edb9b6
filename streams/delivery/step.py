"""What delivery asks of a step of the pipeline, and what it hands over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from rules.moment import Millis


class Record(Protocol):
    """The part of a Kafka record that steps read."""

    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int: ...


class Output(NamedTuple):
    """A record to send; `partition` None leaves the choice to the key."""

    topic: str
    partition: int | None
    key: bytes
    value: bytes | None


class Flush(NamedTuple):
    """Outputs, then state rows; a row's value None deletes it."""

    outputs: Sequence[Output]
    rows: Mapping[str, Any]


class Moment(NamedTuple):
    """When a flush happens: the position behind the last record handled, whether that is the end, the time."""

    position: int
    at_end: bool
    now: Millis


class Restored(NamedTuple):
    """What a partition comes with: its rows, and a way to ask for a flush (`touch(partition)`)."""

    rows: Mapping[str, Any]
    incarnation: int
    position: int
    touch: Callable[[int], None]


class Step(Protocol):
    """One step; see `Flush` for the order in which its results become durable."""

    name: str
    topic: str
    interval: float

    async def assigned(self, partition: int, restored: Restored) -> None: ...
    def handle(self, partition: int, records: Sequence[Record]) -> None: ...
    def flush(self, partition: int, moment: Moment) -> Flush | None: ...
    def revoked(self, partition: int) -> None: ...
