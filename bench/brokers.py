"""The brokers to measure on: Apache Kafka where its jars and a Java are, and the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from streams.embedded import broker as embedded
from streams.embedded.server import Server
from tests.kafka import apache

KAFKA, TANSU = "Apache Kafka", "tansu"

# Members that start together join together: else the first would have read half of the log before the others come.
SETTINGS = {"group.initial.rebalance.delay.ms": "2000"}


def available() -> list[str]:
    """Names of the brokers that can be started here, the one for throughput first."""
    return [TANSU] if apache.missing() else [KAFKA, TANSU]


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
