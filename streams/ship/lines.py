"""Bytes become lines, in bounded memory: of a line that is too long only the beginning and the size are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rules.dead_letter import KEPT

LINE_LIMIT = 256 * 1024
"""No record of any format comes near; what is longer is a mistake, and its dead letter keeps the beginning."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its line break. `body` is the whole of it unless `size` exceeds LINE_LIMIT."""

    number: int  # the first line is 1
    body: bytes
    size: int

    @property
    def is_too_large(self) -> bool:
        return self.size > LINE_LIMIT


class LineSplitter:
    """Feed it chunks of any cut; it gives the lines that are complete."""

    def __init__(self, number: int = 0, offset: int = 0) -> None:
        """`number` lines, `offset` bytes, stand before the first chunk."""
        self.number = number
        self.offset = offset  # behind the last line given
        self._body = bytearray()
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that end in this chunk."""
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        if first >= 0:
            self._take(memoryview(chunk)[:first])
            yield self._finish(line_break=1)
        if last > first:
            yield from self._whole(chunk[first + 1 : last])
        self._take(memoryview(chunk)[last + 1 :])

    def rest(self) -> Line | None:
        """What stands behind the last line break, if anything; nothing stands there afterwards."""
        return self._finish(line_break=0) if self._size else None

    def _whole(self, lines: bytes) -> Iterator[Line]:
        """Lines that begin and end in one chunk, the last one without its break."""
        for body in lines.split(b"\n"):
            size = len(body)
            self.number += 1
            self.offset += size + 1
            yield Line(self.number, (body if size <= LINE_LIMIT else body[:KEPT]).removesuffix(b"\r"), size)

    def _take(self, piece: memoryview) -> None:
        self._size += len(piece)
        if self._size <= LINE_LIMIT:
            self._body += piece
            return
        del self._body[KEPT:]
        self._body += piece[: KEPT - len(self._body)]

    def _finish(self, line_break: int) -> Line:
        self.number += 1
        self.offset += self._size + line_break
        body, size = bytes(self._body), self._size
        self._body, self._size = bytearray(), 0
        if self.number == 1:
            body = body.removeprefix(_BYTE_ORDER_MARK)
        return Line(self.number, body.removesuffix(b"\r"), size)
