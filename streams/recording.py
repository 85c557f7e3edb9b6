"""Recordings as records in order of time, with the clock between them: what `replay` judges and `ship --clock event` sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from pathlib import Path

from rules.intake.reader import Intake
from rules.records import Clock, Record, Rejected
from streams.ship.event_clock import Entry, merged
from streams.ship.lines import LineSplitter
from streams.ship.parcels import LineReader
from streams.ship.sources import Form, all_chunks, form_of, origin_of

Progress = Callable[[Path, int], None]
"""Told of each source and how many of its bytes on the disk have been read."""


class Recording:
    """Several files as one recording. What cannot be read is counted while `records` is consumed."""

    def __init__(self, files: Sequence[Path], zone: tzinfo, progress: Progress | None = None) -> None:
        self.rejected = 0
        self._files = files
        self._intake = Intake(zone)
        self._progress = progress or (lambda _source, _position: None)

    @property
    def records(self) -> Iterator[Record]:
        """The records. Raises UnreadableSource."""
        for entry in merged([entries(file, self._intake, None, self._progress) for file in self._files]):
            found = entry if isinstance(entry, Clock) else entry.found
            if isinstance(found, Rejected):
                self.rejected += 1
            elif found is not None:
                yield found


def entries(source: Path, intake: Intake, form: Form | None, progress: Progress) -> Iterator[Entry]:
    """The lines of one source with what they say. `form` None: by the file's name or its first line."""
    lines, reader, origin = LineSplitter(), None, origin_of(source)
    for chunk in all_chunks(source):
        reader = reader or LineReader(intake, form or form_of(source, chunk.data))
        for line in lines.feed(chunk.data):
            yield Entry(reader.read(line), line, origin)
        progress(source, chunk.position)
    rest = lines.rest()
    if reader and rest:
        yield Entry(reader.read(rest), rest, origin)
