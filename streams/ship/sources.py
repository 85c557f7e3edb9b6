"""Where lines come from: files, packed files, standard input; and in which form each of them is written."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rules.intake.log_line import is_marked
from streams.ship.lines import LineSplitter
from streams.ship.rotated import DAMAGED, unpacked
from streams.ship.unwrap import Unwrapper

CHUNK = 128 * 1024  # what is made of it fits a processor's caches
STDIN = Path("-")

FIRST_LINES = 100  # that are looked at for the form of what has no telling name

_RECORD_SUFFIXES = {".jsonl", ".ndjson", ".json"}
_DATED = re.compile(rb"[^\w{]{0,3}\d{4}-\d\d-\d\d[ T]\d\d:\d\d")


class UnreadableSource(Exception):  # noqa: N818  the operator's, not ours
    """A file that is not there, may not be read, or is damaged."""


class Form(StrEnum):
    """What an unreadable line is: in records a dead letter, in a log a line of another program."""

    RECORDS = "jsonl"
    LOG = "log"


class Chunk(NamedTuple):
    """Bytes of a source, and how far into the file (as it lies on the disk) they reach."""

    data: bytes
    position: int


def form_of(path: Path, head: bytes) -> Form:
    """The form by the file's name, else by the first line that tells; in doubt records, of which nothing is skipped."""
    suffixes = set(path.suffixes)
    if suffixes & _RECORD_SUFFIXES:
        return Form.RECORDS
    if ".log" in suffixes:
        return Form.LOG
    told = (_form_of_line(line) for line in _first_lines(head))
    return next((form for form in told if form is not None), Form.RECORDS)


def _first_lines(head: bytes) -> Iterator[bytes]:
    """Without what Docker or Kubernetes wrapped around them."""
    lines, unwrapper = LineSplitter(), Unwrapper()
    for wrapped in islice(lines.feed(head), FIRST_LINES):
        yield from (line.body for line in unwrapper.feed(wrapped))
    yield from (line.body for line in (lines.rest(), *unwrapper.rest()) if line is not None)


def _form_of_line(line: bytes) -> Form | None:
    """None: a line like any."""
    text = line.lstrip()
    if text.startswith((b"{", b"[{")):
        return Form.RECORDS
    return Form.LOG if _DATED.match(text) or is_marked(text.decode("utf-8", "replace")) else None


def origin_of(path: Path) -> str:
    """The name under which lines of a source are known: absolute, and always text."""
    return "stdin" if path == STDIN else os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")


def file_chunks(path: Path) -> Iterator[Chunk]:
    """A file from its beginning to its end, unpacked. Raises UnreadableSource."""
    try:
        with path.open("rb") as file:
            content = unpacked(path, file)
            while data := content.read(CHUNK):
                yield Chunk(data, file.tell())
    except (OSError, *DAMAGED) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"damaged: {error}"
        raise UnreadableSource(f"{path}: {reason}") from error


def stdin_chunks() -> Iterator[Chunk]:
    """Standard input to its end; each read waits."""
    position = 0
    while data := os.read(0, CHUNK):
        position += len(data)
        yield Chunk(data, position)


def all_chunks(path: Path) -> Iterator[Chunk]:
    """A file or standard input, each read waiting."""
    return stdin_chunks() if path == STDIN else file_chunks(path)


async def chunks(path: Path) -> AsyncIterator[Chunk]:
    """The same, where a pipe that is silent keeps nobody waiting."""
    if path != STDIN:
        for chunk in file_chunks(path):
            yield chunk
        return
    queue: asyncio.Queue[Chunk | None] = asyncio.Queue(maxsize=4)
    threading.Thread(target=_pump, args=(queue, asyncio.get_running_loop()), daemon=True).start()
    while (found := await queue.get()) is not None:
        yield found


def _pump(queue: asyncio.Queue[Chunk | None], loop: asyncio.AbstractEventLoop) -> None:
    """In a thread of its own that ends with the process: a read of a silent pipe cannot be called off."""
    for chunk in stdin_chunks():
        asyncio.run_coroutine_threadsafe(queue.put(chunk), loop).result()
    asyncio.run_coroutine_threadsafe(queue.put(None), loop).result()
