"""Sends the recordings through Kafka at a pace that can be followed. The gateway of that time counts along."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from rules.moment import Millis
from rules.records import Clock, Usage
from streams.demo.gate import Gate
from streams.demo.recordings import Recordings
from streams.ship.event_clock import Entry
from streams.ship.outbox import Outbox
from streams.ship.parcels import Addresser
from streams.wall_clock import wall_clock

Shipped = Callable[[Millis], None]
"""Told of the recorded instant up to which everything has been acknowledged."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that a tick of the recorded clock takes at least, and how much longer one takes that rules on a reading.

    Without them nothing waits.
    """

    tick: float = 0.0
    reading: float = 0.0

    def planned(self, recordings: Recordings) -> float:
        """What both recordings take at least, in seconds."""
        return self.tick * len(recordings.ticks) + self.reading * len(recordings.readings)


@dataclass(frozen=True, slots=True)
class Shipping:
    """What is needed on the way."""

    outbox: Outbox
    addresser: Addresser
    gate: Gate
    pace: Pace
    shipped: Shipped

    async def ship(self, recordings: Recordings) -> None:
        """All of it. Raises NotDelivered."""
        due, readings = time.monotonic(), {reading.at for reading in recordings.readings}
        for entry in recordings.entries:
            if isinstance(entry, Entry):
                await self._put(entry)
                continue
            await self._tick(entry)
            due += self.pace.tick + (self.pace.reading if entry.at in readings else 0.0)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _put(self, entry: Entry) -> None:
        if entry.found is None:  # a line of another program
            return
        if isinstance(entry.found, Usage):
            await self.gate.count(entry.found)
        origin = f"{entry.source}:{entry.line.number}"
        await self.outbox.put(self.addresser.parcel(entry.found, entry.line, origin, wall_clock()))

    async def _tick(self, clock: Clock) -> None:
        for parcel in self.addresser.clock(clock.at, self.outbox.partitions):
            await self.outbox.put(parcel)
        await self.outbox.settle()
        self.shipped(clock.at)
