"""The lines of one source with what each of them says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from rules.calls import Calls
from rules.intake.reader import Intake
from streams.ship.event_clock import Entry, Found
from streams.ship.lines import Line, LineSplitter
from streams.ship.parcels import LineReader
from streams.ship.sources import Form, all_chunks, form_of, origin_of
from streams.ship.unwrap import Unwrapper
from streams.ship.years import Years

Progress = Callable[[Path, int], None]
"""Told of each source and how many of its bytes on the disk have been read."""


class Stretch(NamedTuple):
    """Lines that follow one another, with what each of them says."""

    lines: Sequence[Line]
    found: Sequence[Found]


def stretches(source: Path, intake: Intake, form: Form | None, progress: Progress) -> Iterator[Stretch | Calls]:
    """The lines of one source, as many as are read at once. `form` None: by the file's name or its first line.

    Where all of many lines are events of usage only these are given.
    """
    lines, unwrapper, reader, years = LineSplitter(), Unwrapper(), None, Years()
    for chunk in all_chunks(source):
        reader = reader or LineReader(intake, form or form_of(source, chunk.data))
        cuts = list(lines.cut(chunk.data))
        calls = None if unwrapper.pending else reader.read_usage(cuts)
        if calls is not None and years.are_steady(calls.ats):
            yield calls
        else:
            whole = unwrapper.feed_all([line for cut in cuts for line in cut.lines()])
            yield Stretch(whole, years.sift(reader.read_all(whole)))
        progress(source, chunk.position)
    if reader is not None:
        rest = list(remaining(lines, unwrapper))
        yield Stretch(rest, years.sift(reader.read_all(rest)))


def entries(source: Path, intake: Intake, form: Form | None, progress: Progress) -> Iterator[Entry]:
    """The same line by line."""
    lines, unwrapper, reader, years = LineSplitter(), Unwrapper(), None, Years()
    origin = origin_of(source)
    for chunk in all_chunks(source):
        reader = reader or LineReader(intake, form or form_of(source, chunk.data))
        whole = unwrapper.feed_all(list(lines.feed(chunk.data)))
        yield from map(Entry, years.sift(reader.read_all(whole)), whole, repeat(origin))
        progress(source, chunk.position)
    if reader is not None:
        rest = list(remaining(lines, unwrapper))
        yield from map(Entry, years.sift(reader.read_all(rest)), rest, repeat(origin))


def remaining(lines: LineSplitter, unwrapper: Unwrapper) -> Iterator[Line]:
    """What stands behind the last line break, and what had begun and does not end."""
    unfinished = lines.rest()
    if unfinished is not None:
        yield from unwrapper.feed(unfinished)
    yield from unwrapper.rest()
