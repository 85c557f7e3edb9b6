"""The lines of one source with what each of them says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rules.intake.reader import Intake
from streams.ship.event_clock import Entry
from streams.ship.lines import LineSplitter
from streams.ship.parcels import LineReader
from streams.ship.sources import Form, all_chunks, form_of, origin_of

Progress = Callable[[Path, int], None]
"""Told of each source and how many of its bytes on the disk have been read."""


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
