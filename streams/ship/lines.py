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

    @property
    def length(self) -> int:
        """In lines."""
        return 1

    def lines(self) -> Iterator[Line]:
        """One by one."""
        yield self


class Block(NamedTuple):
    """Lines that follow one another, the last one without its line break."""

    number: int  # of the first
    body: bytes
    length: int  # in lines

    @property
    def is_too_large(self) -> bool:
        """A line in it may be."""
        return len(self.body) > LINE_LIMIT

    def lines(self) -> Iterator[Line]:
        """One by one."""
        for number, body in enumerate(self.body.split(b"\n"), self.number):
            size = len(body)
            yield Line(number, (body if size <= LINE_LIMIT else body[:KEPT]).removesuffix(b"\r"), size)


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
        for cut in self.cut(chunk):
            if isinstance(cut, Line):
                yield cut
                continue
            for line in cut.lines():
                self.number, self.offset = line.number, self.offset + line.size + 1
                yield line

    def cut(self, chunk: bytes) -> Iterator[Line | Block]:
        """The same without looking into those that begin in this chunk, too."""
        first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
        if first >= 0:
            self._take(memoryview(chunk)[:first])
            yield self._finish(line_break=1)
        if last > first:
            data = chunk[first + 1 : last]
            block = Block(self.number + 1, data, data.count(b"\n") + 1)
            behind = self.number + block.length, self.offset + len(data) + 1
            yield block
            self.number, self.offset = behind
        self._take(memoryview(chunk)[last + 1 :])

    def rest(self) -> Line | None:
        """What stands behind the last line break, if anything; nothing stands there afterwards."""
        return self._finish(line_break=0) if self._size else None

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
