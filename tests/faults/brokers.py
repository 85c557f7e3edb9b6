"""Brokers that are stopped, frozen and started again at the same address."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Protocol

from streams.embedded import broker as embedded
from tests.kafka.apache import ApacheKafka

if TYPE_CHECKING:
    from pathlib import Path

    from streams.embedded.server import Server


class Broker(Protocol):
    """What faults are done to."""

    address: str
    keeps_its_log: bool  # when stopped
    session: float  # of workers' membership, in seconds
    lasts: int  # faults, until a fresh one takes its place

    def restart(self) -> None: ...
    def freeze(self, seconds: float) -> None: ...
    def stop(self) -> None: ...


def freeze(server: Server, seconds: float) -> None:
    """It keeps its connections and answers nothing for a while."""
    os.killpg(server.child.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        os.killpg(server.child.pid, signal.SIGCONT)


class Embedded:
    """Forgets everything when it stops, and nothing before: it never compacts and slows down with every record, until
    reading a changelog takes longer than a watchdog waits."""

    keeps_its_log = False
    session = 2.5
    lasts = 30

    def __init__(self, directory: Path) -> None:
        self._server = embedded.start(directory / "broker.log")
        self.address = self._server.address

    def restart(self) -> None:
        raise NotImplementedError("its log would be gone, which tests of the delivery try")

    def freeze(self, seconds: float) -> None:
        freeze(self._server, seconds)

    def stop(self) -> None:
        self._server.child.stop()


# Facts and decisions are compacted all the time.
CLEANING = {
    "log.roll.ms": "2000",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "0",
}


class Apache:
    """Keeps its log, cleans it often, and lets workers have the sessions that they ask for."""

    keeps_its_log = True
    session = 6.0
    lasts = 1_000

    def __init__(self, directory: Path) -> None:
        self._kafka = ApacheKafka.start(directory, CLEANING)
        self.address = self._kafka.address

    def restart(self) -> None:
        self._kafka.stop()
        self._kafka = self._kafka.again()

    def freeze(self, seconds: float) -> None:
        freeze(self._kafka.server, seconds)

    def stop(self) -> None:
        self._kafka.stop()


BROKERS: dict[str, type[Embedded] | type[Apache]] = {"embedded": Embedded, "kafka": Apache}
