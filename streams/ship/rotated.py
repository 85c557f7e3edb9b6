"""What a rotation left behind: the files beside a log that hold what was written before the present one.

A log may have been renamed, or copied and cut short, packed since, and all that several times while nobody looked. What
tells whether a file goes on where we stopped are the bytes before that place, not its name or number; names move while
we look, so files are opened first and then told apart by what they are.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import re
import time
import zlib
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from streams.ship.places import MARK, Place, mark_of

CHUNK = 256 * 1024
DAMAGED = (EOFError, zlib.error, lzma.LZMAError)
HEAD = 4096
_KNOWN = 500  # beginnings remembered; nobody keeps more rotated files
_PATIENCE_SECONDS = 30.0  # with a folder whose names move; a rotation takes milliseconds
_PAUSE_SECONDS = 0.002
_GRAIN_SECONDS = 0.01  # of file times: a packed file's may be rounded, and files of one tick share theirs
_PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_NUMBERED = r"[.-]\d[\dT:._-]*"
_SUFFIXES = r"(\.gz|\.bz2|\.xz)?"


class Remains(NamedTuple):
    """An open file with lines that nobody has read yet, from `offset` of its unpacked bytes on."""

    file: IO[bytes]
    path: Path  # the name it had when it was opened
    changed: float
    inode: int
    offset: int = 0
    line: int = 0  # so many lines stand before it

    def content(self) -> IO[bytes]:
        """From the beginning, unpacked."""
        self.file.seek(0)
        return unpacked(self.path, self.file)


class Missed(NamedTuple):
    """What was written to a log after a place and is no longer in the present file, oldest first. `copy`: the rest of
    the file that the place was taken in, where that still exists."""

    copy: Remains | None
    later: list[Remains]

    @property
    def all(self) -> list[Remains]:
        return [self.copy, *self.later] if self.copy is not None else self.later


def unpacked(path: Path, file: IO[bytes]) -> IO[bytes]:
    """The content of an open file, whatever it was packed with. Reading it raises OSError and DAMAGED."""
    opener = _PACKED.get(path.suffix)
    return file if opener is None else cast("IO[bytes]", opener(file, "rb"))


def missed(path: Path, place: Place, present: int, known: dict[str, None]) -> Missed:
    """Look beside a log whose present file is open as the descriptor `present`. The remains found are open.

    `known`: the beginnings of files that were read already, to which those of the remains are added: the times of files
    that change hands quickly do not tell their order.
    """
    files = _earlier(path, os.fstat(present).st_ino)
    own = next((file for file in files if _goes_on(file, place)), None)
    since = (own.changed if own is not None else place.seen or float("inf")) - _GRAIN_SECONDS
    _close(file for file in files if file is not own and file.changed < since)
    later = [file for file in files if file is not own and file.changed >= since]
    # The present one may have been rotated and packed just now.
    here = head_of(os.pread(present, HEAD, 0))
    later = _without(later, here)
    if own is None:
        return Missed(None, _others(later, known))
    known[_head(own)] = None
    return Missed(own._replace(offset=place.offset, line=place.line), _others(later, known))


def rest(found: Remains) -> Iterator[bytes]:
    """The bytes that were missed; the file is closed then. What is damaged ends where the damage begins."""
    try:
        with found.file:
            content = found.content()
            content.seek(found.offset)
            while data := content.read(CHUNK):
                yield data
    except (OSError, *DAMAGED):
        return


def _earlier(path: Path, present: int) -> list[Remains]:
    """The rotated files of a log by their last change, oldest first."""
    found = _settled(path)
    unique = {remains.inode: remains for remains in found if remains.inode != present}
    _close(remains for remains in found if unique.get(remains.inode) is not remains)
    return sorted(unique.values(), key=lambda remains: (remains.changed, remains.path.name))


def _settled(path: Path) -> list[Remains]:
    """The rotated files, opened while no name in their folder moved: a listing amid renames may leave some out."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        before = path.parent.stat().st_mtime_ns
        found = [remains for beside in _names(path) if (remains := _opened(beside)) is not None]
        listed = {inode for name in _names(path) if (inode := _inode(name))}
        still = before == path.parent.stat().st_mtime_ns and listed == {remains.inode for remains in found}
        if still or time.monotonic() > deadline:
            return found
        _close(found)
        time.sleep(_PAUSE_SECONDS)


def _names(path: Path) -> list[Path]:
    stem, suffix, name = re.escape(path.stem), re.escape(path.suffix), re.escape(path.name)
    pattern = re.compile(f"({name}{_NUMBERED}|{stem}{_NUMBERED}{suffix}){_SUFFIXES}")
    found = {beside.name: beside for beside in path.parent.glob("*") if pattern.fullmatch(beside.name)}
    # Beside the file that it is made of, a packed one is not finished.
    return [file for name, file in found.items() if file.is_file() and not _is_packing(name, found)]


def _is_packing(name: str, found: Container[str]) -> bool:
    stem, _, suffix = name.rpartition(".")
    return f".{suffix}" in _PACKED and stem in found


def _opened(path: Path) -> Remains | None:
    try:
        file = path.open("rb")
    except OSError:
        return None
    found = os.fstat(file.fileno())
    return Remains(file, path, found.st_mtime, found.st_ino)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _close(files: Iterable[Remains]) -> None:
    for each in files:
        each.file.close()


def _goes_on(file: Remains, place: Place) -> bool:
    """Whether a file holds, before the place's offset, what stood there."""
    if place.offset == 0:  # nothing stood there: only the file itself can tell
        return file.inode == place.inode
    start = max(0, place.offset - MARK)
    try:
        content = file.content()
        content.seek(start)
        before = content.read(place.offset - start)
    except (OSError, *DAMAGED):
        return False
    return len(before) == place.offset - start and mark_of(before) == place.mark


def _others(files: list[Remains], known: dict[str, None]) -> list[Remains]:
    """Each content once: while a file is packed it lies there twice."""
    found = []
    for file in files:
        head = _head(file)
        if head in known:
            file.file.close()
        else:
            known[head] = None
            found.append(file)
    for head in list(known)[:-_KNOWN]:
        del known[head]
    return found


def _without(files: list[Remains], head: str) -> list[Remains]:
    same = [file for file in files if _head(file) == head]
    _close(same)
    return [file for file in files if file not in same]


def head_of(beginning: bytes) -> str:
    """What stands for a file: its first bytes, as many as `HEAD`."""
    return hashlib.sha256(beginning[:HEAD]).hexdigest()


def _head(file: Remains) -> str:
    try:
        return head_of(file.content().read(HEAD))
    except (OSError, *DAMAGED):
        return str(file.path)
