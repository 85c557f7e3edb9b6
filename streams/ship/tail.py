"""A file that grows: its new lines as they are completed.

A file that was cut short or written anew is read from its beginning, and what had been read of an unfinished line
counts as a line. A file that was put in the place of another follows after the last line of that one.
"""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path

from streams.ship.lines import Line, LineSplitter
from streams.ship.places import MARK, Place, bytes_before, mark_of
from streams.ship.sources import CHUNK, UnreadableSource


class Tail:
    """One followed file. It need not exist yet."""

    def __init__(self, path: Path, place: Place | None = None) -> None:
        self._path = path
        self._resume_at = place
        self._file: FileIO | None = None
        self._start(0, 0, b"")

    def poll(self) -> list[Line]:
        """The lines completed since the last call, of one chunk at least and not many."""
        file = self._file or self._open()
        if file is None:
            return []
        if self._was_rewritten(file):
            rest = self._splitter.rest()
            self._start(file.seek(0), 0, b"")
            if rest:
                return [rest]
        while data := file.read(CHUNK):
            if lines := self._take(data):
                return lines
        if self._was_replaced(file):
            self.close()
            rest = self._splitter.rest()
            return [rest] if rest else self.poll()
        return []

    def head(self) -> bytes:
        """The first bytes of the file, which tell its form."""
        return os.pread(self._file.fileno(), CHUNK, 0) if self._file else b""

    def place(self) -> Place | None:
        """Where to go on once all lines given have been shipped; none while there is no file."""
        if self._file is None:
            return None
        inode = os.fstat(self._file.fileno()).st_ino
        return Place(offset=self._splitter.offset, line=self._splitter.number, inode=inode, mark=mark_of(self._before))

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO | None:
        try:
            file = FileIO(self._path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreadableSource(f"{self._path}: {error.strerror}") from error
        self._file = file
        place, self._resume_at = self._resume_at, None
        if place is not None and place.fits(file.fileno()):
            self._start(file.seek(place.offset), place.line, bytes_before(file.fileno(), place.offset))
        else:
            self._start(0, 0, b"")
        return file

    def _start(self, offset: int, number: int, before: bytes) -> None:
        self._splitter = LineSplitter(number, offset)
        self._before = before  # the last bytes of the last line given
        self._seen = before  # the last bytes read

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
