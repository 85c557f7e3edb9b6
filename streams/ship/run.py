"""Ships files and pipes once, recordings on their own clock, or files as they grow.

source ──> LineSplitter ──> LineReader ──> Addresser ──> Outbox ──> Kafka
           (lines.py)       (parcels.py)                 (outbox.py)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from rules.intake.reader import Intake
from rules.records import Clock, Record, Rejected
from streams.settings import Settings
from streams.ship.entries import Progress, entries, remaining
from streams.ship.event_clock import merged
from streams.ship.lines import Line, LineSplitter
from streams.ship.outbox import NotDelivered, Outbox, open_outbox
from streams.ship.parcels import WRONG_CLOCK, Addresser, LineReader
from streams.ship.places import Places
from streams.ship.sources import Form, UnreadableSource, chunks, form_of, origin_of
from streams.ship.tail import Tail
from streams.ship.tally import Tally
from streams.ship.unwrap import Unwrapper
from streams.topics import BrokerUnavailable, Topics, ensure_topics
from streams.wall_clock import wall_clock

POLL_SECONDS = 0.25
QUIET_SECONDS = 2.0
"""A log's writer is told of a rotation by a signal and may write to the old file for a moment."""
BATCH = 500  # records under way in event mode, where nothing waits for a chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to ship, and to where. `settings` already are those of event mode where the recordings' clock counts."""

    settings: Settings
    sources: tuple[Path, ...]
    zone: tzinfo
    form: Form | None = None  # None: by name or first line
    places: Places | None = None  # follow, and remember there
    progress: Progress = field(default=lambda _source, _position: None)


async def ship(job: Job, tally: Tally) -> None:
    """Do the job, counting in `tally`. Raises NotDelivered, UnreadableSource, BadPlaceFile, TopicError."""
    try:
        partitions = await ensure_topics(job.settings.kafka, job.settings.prefix)
    except BrokerUnavailable as error:
        raise NotDelivered(str(error)) from error
    async with open_outbox(job.settings.kafka, partitions, tally) as outbox:
        shipper = Shipper(job, outbox, tally)
        if job.settings.event_clock:
            await shipper.ship_recordings()
        elif job.places is not None:
            await shipper.follow(job.places)
        else:
            await shipper.ship_all()


@dataclass(slots=True)
class Followed:
    """A source that is followed, with what reads it."""

    source: Path
    tail: Tail
    has_place: bool
    unwrapper: Unwrapper = field(default_factory=Unwrapper)
    reader: LineReader | None = None


class Shipper:
    """One job under way."""

    def __init__(self, job: Job, outbox: Outbox, tally: Tally) -> None:
        self._job = job
        self._outbox = outbox
        self._tally = tally
        self._intake = Intake(job.zone)
        self._addresser = Addresser(Topics(job.settings.prefix))

    async def ship_all(self) -> None:
        """Each source from its beginning to its end; one that cannot be read keeps no other waiting."""
        unreadable = []
        for source in self._job.sources:
            try:
                await self._ship_once(source)
            except UnreadableSource as error:
                unreadable.append(str(error))
        if unreadable:
            raise UnreadableSource("\n".join(unreadable))

    async def _ship_once(self, source: Path) -> None:
        lines, unwrapper, reader, origin = LineSplitter(), Unwrapper(), None, origin_of(source)
        async for chunk in chunks(source):
            reader = reader or self._reader(source, chunk.data)
            for wrapped in lines.feed(chunk.data):
                for line in unwrapper.feed(wrapped):
                    await self._ship(reader.read(line), line, origin)
            await self._outbox.settle()
            self._job.progress(source, chunk.position)
        if reader is not None:
            for line in remaining(lines, unwrapper):
                await self._ship(reader.read(line), line, origin)
            await self._outbox.settle()

    async def ship_recordings(self) -> None:
        """All sources, merged by their own time, with the clock between the records."""
        job = self._job
        recordings = [entries(source, self._intake, job.form, job.progress) for source in job.sources]
        for number, entry in enumerate(merged(recordings)):
            if isinstance(entry, Clock):
                for parcel in self._addresser.clock(entry.at, self._outbox.partitions):
                    await self._outbox.put(parcel)
            else:
                await self._ship(entry.found, entry.line, entry.source)
            if number % BATCH == 0:
                await self._outbox.settle()
        await self._outbox.settle()

    async def follow(self, places: Places) -> None:
        """All sources as they grow, until cancelled."""
        followed = [self._followed(source, places) for source in self._job.sources]
        while True:
            grown = [await self._ship_growth(each, places) for each in followed]
            if not any(grown):
                await asyncio.sleep(POLL_SECONDS)

    def _followed(self, source: Path, places: Places) -> Followed:
        place = places.find(origin_of(source))
        return Followed(source, Tail(source, place, quiet=QUIET_SECONDS), has_place=place is not None)

    async def _ship_growth(self, followed: Followed, places: Places) -> bool:
        """Whether there were new lines."""
        source, tail = followed.source, followed.tail
        if not followed.has_place and (begin := tail.begin()) is not None:
            # A rotation before the first acknowledgement must not be taken for somebody else's past.
            places.remember(origin_of(source), begin)
            followed.has_place = True
        lines, origin = tail.poll(), origin_of(source)
        if not lines:
            return False
        if followed.reader is None:
            followed.reader = self._reader(source, tail.head())
        for wrapped in lines:
            for line in followed.unwrapper.feed(wrapped):
                await self._ship(followed.reader.read(line), line, origin)
        await self._outbox.settle()
        place = tail.place()
        if place is not None and not followed.unwrapper.pending:
            places.remember(origin, place)
            self._job.progress(source, place.offset)
        return True

    async def _ship(self, found: Record | Rejected | None, line: Line, origin: str) -> None:
        self._tally.lines += 1
        found = WRONG_CLOCK if isinstance(found, Clock) else found
        if isinstance(found, Rejected):
            self._tally.complaint = self._tally.complaint or f"{origin}:{line.number}: {found.detail}"
        if found is not None:
            await self._outbox.put(self._addresser.parcel(found, line, f"{origin}:{line.number}", wall_clock()))
        elif line.size:
            self._tally.skipped += 1

    def _reader(self, source: Path, head: bytes) -> LineReader:
        return LineReader(self._intake, self._job.form or form_of(source, head))
