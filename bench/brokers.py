"""The brokers to measure on: Apache Kafka where its jars and a Java are, and the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.embedded import broker as embedded
from streams.embedded.server import MissingPartError, Server
from tests.kafka import apache

KAFKA, TANSU = "Apache Kafka", "tansu"
OPTIONS = {"kafka": KAFKA, "tansu": TANSU}

# Members that start together join together: else the first would have read half of the log before the others come.
SETTINGS = {"group.initial.rebalance.delay.ms": "2000"}


def titled(name: str) -> str:
    """With its version, where that is ours to choose."""
    return f"{name} {apache.version()}" if name == KAFKA else name


def missing(name: str) -> str | None:
    """What keeps a broker from being started here, and how to get it; None: nothing."""
    if name == KAFKA:
        absent = apache.missing()
        return absent and f"{absent} (Java: apt-get install openjdk-17-jre-headless)"
    try:
        embedded.find_binary()
    except MissingPartError as problem:
        return str(problem)
    return None


@contextmanager
def running(name: str) -> Iterator[Server]:
    """A fresh broker."""
    if name == TANSU:
        server = embedded.start()
        try:
            yield server
        finally:
            server.child.stop()
        return
    with TemporaryDirectory(prefix="blastdoor-bench-") as directory:
        kafka = apache.ApacheKafka.start(Path(directory), SETTINGS)
        try:
            yield kafka.server
        finally:
            kafka.stop()
