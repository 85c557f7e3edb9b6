"""A partition in the hands of a step without Kafka: atomic flushes, and crashes wherever a test wants them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from streams.delivery.step import Moment, Output, Record, Restored, Step


@dataclass(frozen=True)
class Stored:
    """A record as a log holds it."""

    offset: int
    value: bytes
    timestamp: int
    key: bytes = b""
    headers: Sequence[tuple[str, bytes]] = ()


@dataclass
class Partition:
    """One partition's log, the rows and position that survived, and everything that was sent."""

    make: Callable[[], Step]
    log: list[Stored] = field(default_factory=list)
    rows: dict[str, Any] = field(default_factory=dict)
    position: int = 0
    sent: list[Output] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def append(self, value: bytes, timestamp: int, key: bytes = b"", headers: Sequence[tuple[str, bytes]] = ()) -> None:
        self.log.append(Stored(len(self.log), value, timestamp, key, headers))

    def start(self) -> None:
        """A new owner, with what survived."""
        self.step = self.make()
        self.handled = self.position
        rows = msgspec.json.decode(msgspec.json.encode(self.rows))
        restored = Restored(rows, 0, self.position, lost=False, log=self, touch=lambda: None, fail=lambda _: None)
        asyncio.run(self.step.assigned(0, restored))

    def handle(self, count: int) -> None:
        """The next `count` records."""
        records = self.log[self.handled : self.handled + count]
        if records:
            self.step.handle(0, records)
            self.handled += len(records)

    def flush(self, now: int, *, whole: bool = True, dies_after_outputs: bool = False) -> None:
        """One flush; dying in the middle leaves the outputs sent and the rows as they were. One that is not whole
        moves the position only if it has rows."""
        flush = self.step.flush(0, Moment(self.handled, self.handled == len(self.log), now, whole))
        self.sent += flush.outputs if flush else ()
        if dies_after_outputs:
            self.start()
            return
        for key, value in (flush.rows if flush else {}).items():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = msgspec.json.decode(msgspec.json.encode(value))
        if whole or (flush and flush.rows):
            self.position = self.handled

    async def before(self, position: int, count: int) -> AsyncIterator[Sequence[Record]]:
        """The step's view back into the log."""
        yield self.log[max(0, position - count) : position]
