"""What a step of the pipeline is to the delivery: the protocol it implements, and the values that pass between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from rules.moment import Millis


class Record(Protocol):
    """One consumed record, as aiokafka gives it. `timestamp` is in milliseconds."""

    @property
    def offset(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


Headers = tuple[tuple[str, bytes], ...]


class Output(NamedTuple):
    """A record to send. `partition` None leaves the choice to the partitioner (by key); value None is a tombstone."""

    topic: str
    partition: int | None
    key: bytes
    value: bytes | None
    headers: Headers = ()


class Flush(NamedTuple):
    """What changed since the last flush.

    A row's value is JSON-able (msgspec), encoded at once; None deletes the row.
    """

    outputs: Sequence[Output] = ()
    rows: Mapping[str, Any] = {}


class Moment(NamedTuple):
    """Where a partition stands: all records before `position` have been handled.

    `at_end`: these were all there are, by an answer of the broker at most two seconds old. `now` is wall-clock time.
    `whole`: this flush is stored together with the position, so its rows must make the state whole. In between, once or
    more a second, rows may be left out: then outputs alone are sent, and after a crash they are sent again.
    """

    position: int
    at_end: bool
    now: Millis
    whole: bool = True


class LogReader(Protocol):
    """Reads the partition's own log again, for what cannot be kept in rows."""

    def before(self, position: int, count: int) -> AsyncIterator[Sequence[Record]]:
        """The records at the `count` offsets before `position`, in order; fewer where the log starts later."""
        ...


@dataclass(frozen=True, slots=True)
class Restored:
    """What a step is given with a partition.

    `rows` are exactly the state after the first `position` records of incarnation `incarnation`: the next record
    handled is the one at `position` (or the first one after it), so a step need not know replays. `lost`: records
    before `position` were deleted unseen.
    """

    rows: Mapping[str, Any]
    incarnation: int
    position: int
    lost: bool
    log: LogReader
    touch: Callable[[], None] = field(repr=False)  # ask for a flush soon; for work done outside `handle`
    fail: Callable[[BaseException], None] = field(repr=False)  # end the process: for errors in a step's own tasks


class Step(Protocol):
    """One agent: the fold of one topic's partitions into rows and outputs.

    State is kept per partition; calls never overlap.
    """

    name: str  # of the agent and its table
    topic: str
    interval: float  # least seconds between two flushes of a partition
    lot: int  # most records to be handled at once: what takes some milliseconds at most, as all else waits meanwhile

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take a partition over; awaited before its first batch. May be cancelled: then `revoked` follows."""

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Fold a batch. Must not raise for bad content: what it raises ends the process."""

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """What is to be sent and stored now. Called after changes and at least once a second; None: nothing changed."""

    def revoked(self, partition: int) -> None:
        """Forget the partition. What was handled has been flushed, unless the process has lost it without notice."""


class Progress(NamedTuple):
    """How far one partition of a step is, for metrics. `end` is None until the broker has answered once."""

    step: str
    partition: int
    position: int  # handled
    flushed: int  # safely stored: what is committed
    end: int | None

    @property
    def lag(self) -> int | None:
        return None if self.end is None else max(0, self.end - self.flushed)


class Observer:
    """Is told what the delivery does; a metrics module overrides what it wants to know. Times are seconds."""

    def rebalanced(self, kept: int, taken: int) -> None: ...
    def assigned(self, step: str, partition: int, rows: int, lost: bool, seconds: float) -> None: ...
    def revoked(self, step: str, partition: int) -> None: ...
    def handled(self, step: str, partition: int, records: int, seconds: float) -> None: ...
    def flushed(self, step: str, partition: int, outputs: int, rows: int, seconds: float) -> None: ...
    def failed(self, reason: str) -> None: ...
