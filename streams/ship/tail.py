"""A file that grows: its new lines as they are completed.

A file that was cut short, written anew or replaced by another is followed by what a rotation left behind, then by the
present file from its beginning. While a replaced file still grows it is read on: its writer has not yet turned to the
new one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from streams.ship.lines import Line, LineSplitter
from streams.ship.places import MARK, Place, bytes_before, mark_of
from streams.ship.rotated import HEAD, Remains, head_of, missed, rest
from streams.ship.sources import CHUNK, UnreadableSource

PATIENCE_SECONDS = 30.0
"""A replaced file that is written to for longer than this will not be left by its writer."""


class Tail:
    """One followed file. It need not exist yet. `quiet`: so many seconds a replaced file must not have grown."""

    def __init__(
        self,
        path: Path,
        place: Place | None = None,
        *,
        quiet: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._resume_at = place
        self._quiet = quiet
        self._monotonic = monotonic
        self._file: FileIO | None = None
        self._left_behind: Iterator[list[Line]] | None = None
        self._replaced_at: float | None = None
        self._was_read = False  # the file of `_resume_at`, to its end
        self._known: dict[str, None] = {}  # the beginnings of files read to their end
        self._grown_at = monotonic()
        self._start(0, 0, b"")

    def poll(self) -> list[Line]:
        """The lines completed since the last call, of one chunk at least and not many."""
        while self._left_behind is not None:
            if (lines := next(self._left_behind, None)) is None:
                self._left_behind = None
            elif lines:
                return lines
        if self._file is None and not self._open():
            return []
        return self.poll() if self._left_behind is not None else self._poll_file()

    def head(self) -> bytes:
        """The first bytes of the file, which tell its form."""
        return os.pread(self._file.fileno(), CHUNK, 0) if self._file else b""

    def place(self) -> Place | None:
        """Where to go on once all lines given have been shipped; none while there is no file, nor while a rotation's
        remains are read."""
        if self._file is None or self._left_behind is not None:
            return None
        return self._place_in(self._file)

    def begin(self) -> Place | None:
        """The place before anything was read, once there is a file."""
        return self.place() if self._file is not None or self._open() else None

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _poll_file(self) -> list[Line]:
        file = self._file
        assert file is not None  # noqa: S101  for the type checker
        if self._was_rewritten(file):
            return self._begin_anew(file)
        while data := file.read(CHUNK):
            self._grown_at = self._monotonic()
            if lines := self._take(data):
                return lines
        return self._turn(file) if self._was_replaced(file) else []

    def _begin_anew(self, file: FileIO) -> list[Line]:
        """A copy may hold what was written last before the file was cut short; else our own half a line is all."""
        left = missed(self._path, self._place_in(file), file.fileno(), self._known)
        unfinished = self._splitter.rest()
        self._start(file.seek(0), 0, b"")
        self._left_behind = _lines(left.all)
        return [unfinished] if unfinished and left.copy is None else self.poll()

    def _turn(self, file: FileIO) -> list[Line]:
        """Leave a replaced file once its writer has; others may have come and gone between it and the present one."""
        now = self._monotonic()
        self._replaced_at = now if self._replaced_at is None else self._replaced_at
        if now - self._grown_at < self._quiet and now - self._replaced_at < PATIENCE_SECONDS:
            return []
        if os.fstat(file.fileno()).st_size > file.tell():  # written between our last look and the rename
            return self._poll_file()
        self._replaced_at = None
        unfinished, self._resume_at = self._splitter.rest(), self._place_in(file)
        self._known[head_of(os.pread(file.fileno(), HEAD, 0))] = None
        self.close()
        self._was_read = True
        return [unfinished] if unfinished else self.poll()

    def _open(self) -> bool:
        try:
            file = FileIO(self._path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise UnreadableSource(f"{self._path}: {error.strerror}") from error
        self._file = file
        place, self._resume_at, was_read, self._was_read = self._resume_at, None, self._was_read, False
        if place is not None and place.fits(file.fileno()):
            self._start(file.seek(place.offset), place.line, bytes_before(file.fileno(), place.offset))
            return True
        self._start(0, 0, b"")
        if place is not None:
            left = missed(self._path, place, file.fileno(), self._known)
            if was_read and left.copy is not None:
                left.copy.file.close()
            self._left_behind = _lines(left.later if was_read else left.all)
        return True

    def _start(self, offset: int, number: int, before: bytes) -> None:
        self._splitter = LineSplitter(number, offset)
        self._before = before  # the last bytes of the last line given
        self._seen = before  # the last bytes read

    def _place_in(self, file: FileIO) -> Place:
        found = os.fstat(file.fileno())
        return Place(
            offset=self._splitter.offset,
            line=self._splitter.number,
            inode=found.st_ino,
            mark=mark_of(self._before),
            seen=found.st_mtime,
        )

    def _take(self, data: bytes) -> list[Line]:
        seen = self._seen + data
        behind = seen.rfind(b"\n") + 1
        lines = list(self._splitter.feed(data))
        if lines:
            self._before = seen[max(0, behind - MARK) : behind]
        self._seen = seen[-MARK:]
        return lines

    def _was_rewritten(self, file: FileIO) -> bool:
        """Whether what stands before the place we have read to is no longer what we read."""
        offset = file.tell()
        return os.pread(file.fileno(), len(self._seen), offset - len(self._seen)) != self._seen

    def _was_replaced(self, file: FileIO) -> bool:
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(file.fileno()))
        except FileNotFoundError:
            return False


def _lines(left: list[Remains]) -> Iterator[list[Line]]:
    """The lines of files that a rotation left behind, a chunk at a time."""
    for found in left:
        splitter = LineSplitter(found.line, found.offset)
        for data in rest(found):
            yield list(splitter.feed(data))
        unfinished = splitter.rest()
        yield [unfinished] if unfinished else []
