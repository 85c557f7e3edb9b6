"""A recording read and counted in a process of its own, so that a second core carries most of what `replay` does.

The child sends what counting says (`rules.counting`) through a pipe, which holds it back when judging is slower. It
ends with the pipe, whoever breaks that. Whatever it raises is raised here; a child that dies is `ReaderDied`: nothing
is shown of a recording of which a part may be missing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from msgspec import Struct

from rules.counting import Between, Counted, Counting
from rules.meter import MeterCounts
from rules.moment import Millis
from rules.policy import Policy
from rules.replay import up_to
from streams.recording import Recording
from streams.ship.entries import Progress

WORTH_IT = 16 * 1024 * 1024
"""Bytes. Of what is smaller nobody notices how long it takes."""

TOGETHER = 64  # of what counting says, in one message


class Bytes(Struct, frozen=True):
    """How far a file has been read."""

    source: Path
    position: int


class Closing(Struct, frozen=True):
    """What is to be said of the whole, after everything else."""

    counts: MeterCounts
    rejected: int
    found: int
    complaint: str


class ReaderDied(Exception):  # noqa: N818 - what happened is not for this program to mend
    """The process that read the recording is gone before its end."""


class Recorded:
    """A recording, counted; `closing` is known once everything before has been taken."""

    def __init__(self, files: Sequence[Path], policy: Policy, until: Millis | None, *, apart: bool) -> None:
        self.closing = Closing(MeterCounts(), 0, 0, "")
        self._files, self._policy, self._until = files, policy, until
        self._apart = apart

    def counted(self, progress: Progress) -> Iterator[Counted | Between]:
        """Begins at once, so that no thread which `progress` may need is there when the child is made.

        Raises UnreadableSource, and ReaderDied.
        """
        return self._told(self._in_a_child() if self._apart else self._count(progress), progress)

    def _told(
        self, saying: Iterator[Counted | Between | Closing | Bytes], progress: Progress
    ) -> Iterator[Counted | Between]:
        for said in saying:
            if isinstance(said, Bytes):
                progress(said.source, said.position)
            elif isinstance(said, Closing):
                self.closing = said
            else:
                yield said

    def _count(self, progress: Progress) -> Iterator[Counted | Between | Closing]:
        recording = Recording(self._files, self._policy.calendar().zone, progress)
        counting = Counting(self._policy)
        records = recording.lots if self._until is None else up_to(recording.records, self._until)
        yield from counting.run(records)
        refused = recording.rejected + len(counting.rejected)
        yield Closing(counting.counts, refused, recording.found, recording.complaint)

    def _in_a_child(self) -> Iterator[Counted | Between | Closing | Bytes]:
        fork = get_context("fork")
        here, there = fork.Pipe(duplex=False)
        child = fork.Process(target=_send_all, args=(self._count, there, here), daemon=True)
        child.start()
        there.close()
        return _received(here, child)


def is_worth_it(files: Iterable[Path]) -> bool:
    """Whether a second core is there and has enough to do."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return cores > 1 and sum(file.stat().st_size for file in files if file.is_file()) >= WORTH_IT


def _received(here: Connection, child: BaseProcess) -> Iterator[Counted | Between | Closing | Bytes]:
    try:
        yield from _messages(here)
    finally:
        here.close()
        child.join()


def _messages(here: Connection) -> Iterator[Counted | Between | Closing | Bytes]:
    while True:
        try:
            said = here.recv()
        except EOFError:
            raise ReaderDied("the process that read the recording died before its end") from None
        if isinstance(said, Exception):
            raise said
        yield from said
        if said and isinstance(said[-1], Closing):
            return


def _send_all(count: Callable[[Progress], Iterator[object]], there: Connection, here: Connection) -> None:
    """The child's whole life."""
    here.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's is for whoever reads the pipe
    said: list[object] = []

    def send(*more: object, least: int = 1) -> None:
        said.extend(more)
        if len(said) >= least:
            there.send(said)
            said.clear()

    with suppress(BrokenPipeError):  # nobody wants the rest
        try:
            for each in count(lambda source, position: send(Bytes(source, position))):
                send(each, least=TOGETHER)
            send()
        except Exception as error:  # noqa: BLE001 - raised again where the pipe is read
            there.send(error)
