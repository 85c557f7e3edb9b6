"""Remembers how far each file has been shipped: acknowledged by Kafka first, remembered afterwards, never before."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

MARK = 1024
"""So many bytes before a place are remembered (as a hash), to tell whether the file is still the same."""


class BadPlaceFile(Exception):  # noqa: N818  the operator's
    """The place file holds something else."""


class Place(Struct, frozen=True, kw_only=True):
    """A position at the beginning of a line, and what the file looked like there."""

    offset: int
    line: int  # so many lines stand before it
    inode: int
    mark: str  # SHA-256 of the up to MARK bytes before it
    seen: float = 0.0  # when the file had last been changed, in seconds since the epoch; 0: not known

    def fits(self, descriptor: int) -> bool:
        """Whether an open file is the one that this place was taken in, grown at most."""
        found = os.fstat(descriptor)
        return found.st_ino == self.inode and mark_of(bytes_before(descriptor, self.offset)) == self.mark


def bytes_before(descriptor: int, offset: int) -> bytes:
    """Up to MARK bytes before `offset`; fewer where the file is shorter."""
    start = max(0, offset - MARK)
    return os.pread(descriptor, offset - start, start)


def mark_of(before: bytes) -> str:
    """The hash that stands for the bytes before a place."""
    return hashlib.sha256(before).hexdigest()


class Places:
    """The places of one target (broker and prefix) in a file that several processes may share."""

    def __init__(self, file: Path, target: str) -> None:
        self._file = file
        self._target = target

    def find(self, source: str) -> Place | None:
        """Where to go on in a source, None for the beginning. Raises BadPlaceFile."""
        return self._load().get(self._key(source))

    def remember(self, source: str, place: Place) -> None:
        """From now on, go on there."""
        with self._locked():
            places = self._load() | {self._key(source): place}
            fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}.new")
            fresh.write_bytes(msgspec.json.format(msgspec.json.encode(places)) + b"\n")
            fresh.replace(self._file)

    def _key(self, source: str) -> str:
        return f"{self._target} {source}"

    def _load(self) -> dict[str, Place]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, Place])
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, OSError) as error:
            msg = f"{self._file}: not a place file ({error}); delete it to ship everything anew"
            raise BadPlaceFile(msg) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_name(f"{self._file.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
