"""The lines of one source with what each of them says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rules.intake.reader import Intake
from streams.ship.event_clock import Entry
from streams.ship.lines import Line, LineSplitter
from streams.ship.parcels import LineReader
from streams.ship.sources import Form, all_chunks, form_of, origin_of
from streams.ship.unwrap import Unwrapper

Progress = Callable[[Path, int], None]
"""Told of each source and how many of its bytes on the disk have been read."""


def entries(source: Path, intake: Intake, form: Form | None, progress: Progress) -> Iterator[Entry]:
    """The lines of one source with what they say. `form` None: by the file's name or its first line."""
    lines, unwrapper, reader, origin = LineSplitter(), Unwrapper(), None, origin_of(source)
    for chunk in all_chunks(source):
        reader = reader or LineReader(intake, form or form_of(source, chunk.data))
        for wrapped in lines.feed(chunk.data):
            for line in unwrapper.feed(wrapped):
                yield Entry(reader.read(line), line, origin)
        progress(source, chunk.position)
    if reader is not None:
        for line in remaining(lines, unwrapper):
            yield Entry(reader.read(line), line, origin)


def remaining(lines: LineSplitter, unwrapper: Unwrapper) -> Iterator[Line]:
    """What stands behind the last line break, and what had begun and does not end."""
    unfinished = lines.rest()
    if unfinished is not None:
        yield from unwrapper.feed(unfinished)
    yield from unwrapper.rest()
