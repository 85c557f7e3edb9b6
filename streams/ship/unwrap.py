"""What container engines and pretty printers wrap around lines is taken off.

    {"log":"2026-08-13 … [Usage] …\\n","stream":"stdout","time":"…"}     Docker's json-file; long lines come in pieces
    2026-08-13T03:22:00.1Z stdout F 2026-08-13 … [Usage] …               Kubernetes (CRI); P marks a piece
    {⏎  "type": "usage", … ⏎}                                            an object written over several lines

An object over several lines begins with a line that is a brace and nothing else, and ends with such a line: a record
cut short can thus never swallow the ones behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from rules.dead_letter import KEPT
from streams.ship.lines import LINE_LIMIT, Line

MOST_LINES = 2_000  # of one object

_CRI = re.compile(rb"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d) (stdout|stderr) ([FP]) (.*)", re.DOTALL)
_OPENING, _CLOSING = (b"{", b"[{"), (b"}", b"},", b"}]")
_FRAME = (b"[", b"]")


class _Docker(Struct):
    log: str
    stream: str = ""


_docker = msgspec.json.Decoder(_Docker).decode


WRAPPED = b'{"log":'
"""How a line begins that Docker has put into an object of its own."""


class Pieces:
    """The pieces of one long line, up to the most that is read of any."""

    def __init__(self, first: Line) -> None:
        self.number = first.number
        self.body = bytearray()
        self.size = 0
        self.lines = 0

    def add(self, piece: bytes, size: int) -> None:
        self.size += size
        self.lines += 1
        self.body += piece
        if self.size > LINE_LIMIT:
            del self.body[KEPT:]

    def line(self) -> Line:
        return Line(self.number, bytes(self.body), self.size)


class Unwrapper:
    """Feed it the lines of one source in order; it gives the lines that were meant."""

    def __init__(self) -> None:
        self._streams: dict[bytes, Pieces] = {}
        self._object: Pieces | None = None

    @property
    def pending(self) -> bool:
        """Something has begun that has not ended: a place taken now would lie in its middle."""
        return bool(self._streams) or self._object is not None

    def feed(self, line: Line) -> Iterator[Line]:
        """The lines that are complete with this one."""
        if line.body.startswith(WRAPPED) and (docker := _unwrapped(line.body)) is not None:
            text = docker.log.encode()
            yield from self._piece(line, docker.stream.encode(), text.removesuffix(b"\n"), whole=text.endswith(b"\n"))
        elif (cri := _CRI.fullmatch(line.body)) is not None:
            yield from self._piece(line, cri[1], cri[3], whole=cri[2] == b"F")
        else:
            yield from self._part(line)

    def feed_all(self, lines: Sequence[Line]) -> Sequence[Line]:
        """The same for many. Lines that begin like an object of ours pass as they are, which is soon seen of all."""
        beginnings = {line.body[: len(WRAPPED)] for line in lines}
        if not self.pending and all(each.startswith(b'{"') and each != WRAPPED for each in beginnings):
            return lines
        return [line for wrapped in lines for line in self.feed(wrapped)]

    def rest(self) -> Iterator[Line]:
        """What has begun and will not end."""
        begun = [*self._streams.values(), *([self._object] if self._object else [])]
        self._streams, self._object = {}, None
        yield from (pieces.line() for pieces in begun)

    def _piece(self, line: Line, stream: bytes, piece: bytes, *, whole: bool) -> Iterator[Line]:
        pieces = self._streams.pop(stream, None) or Pieces(line)
        pieces.add(piece, len(piece))
        if whole:
            yield pieces.line()._replace(body=bytes(pieces.body).removesuffix(b"\r"))
        else:
            self._streams[stream] = pieces

    def _part(self, line: Line) -> Iterator[Line]:
        body = line.body.rstrip()
        if self._object is None:
            if body in _OPENING:
                self._object = Pieces(line)
                self._object.add(b"{\n", line.size)
            elif body not in _FRAME:
                yield line
            return
        ends = body in _CLOSING
        self._object.add(b"}" if ends else line.body + b"\n", line.size)
        if ends or self._object.lines >= MOST_LINES:
            found, self._object = self._object.line(), None
            yield found


def _unwrapped(body: bytes) -> _Docker | None:
    try:
        return _docker(body)
    except (ValueError, RecursionError):
        return None
