"""Starts Apache Kafka 4 (KRaft, one node) on Java 17 and free ports of 127.0.0.1, in a directory of the caller's."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import time
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from streams.embedded.broker import answers
from streams.embedded.children import Child
from streams.embedded.server import HOST, DidNotStartError, Server, asked, free_port, serve

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
LEAST_JAVA = 17

# A small heap and the quick compiler: the broker is up in half the time, and tests ask little of it.
JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)

# One node, no waiting for others, and a cleaner and a retention check that tests can wait for.
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "log.initial.task.delay.ms": "1000",
    "log.retention.check.interval.ms": "1000",
}


def version() -> str:
    """The version that pom.xml names."""
    found = re.search(r"<kafka.version>([^<]+)<", (HERE / "pom.xml").read_text())
    assert found is not None
    return found[1]


def jars() -> Path:
    return HERE.parents[1] / ".cache" / "kafka" / version()


@cache
def missing() -> str | None:
    """What keeps Kafka from starting on this machine; None: nothing."""
    if not (jars() / f"kafka_2.13-{version()}.jar").exists():
        return f"no jars of Kafka {version()}: mvn -f tests/kafka/pom.xml dependency:copy-dependencies"
    if (java := shutil.which("java")) is None:
        return "no java on the PATH"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    major = int(found[1]) if found is not None else 0
    return None if major >= LEAST_JAVA else f"java is version {major}, needs {LEAST_JAVA}"


class ApacheKafka(NamedTuple):
    """A broker that has answered. Its directory can be started again: the log is kept."""

    directory: Path
    server: Server

    @classmethod
    def start(
        cls,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, int] | None = None,
        users: Mapping[str, str] | None = None,
    ) -> Self:
        """Formats the storage unless that was done before. `settings` are broker settings on top of SETTINGS,
        `listeners` ports of further listeners by protocol, `users` passwords of users for SCRAM-SHA-512."""
        config = directory / "server.properties"

        def argv(port: int) -> list[str]:
            _configure(config, directory, port, settings or {}, listeners or {}, users or {})
            return _java("kafka.Kafka", str(config))

        return cls(directory, serve("Apache Kafka", argv, answers, log=directory / "broker.log", within=60))

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> None:
        self.server.child.stop(patience=30)

    def again(self) -> Self:
        """After `stop`: the same broker at the same address, with all that it had."""
        argv = _java("kafka.Kafka", str(self.directory / "server.properties"))
        child = Child("Apache Kafka", argv, log=self.directory / "broker.log")
        deadline = time.monotonic() + 60
        while not asked(self.server.port, answers):
            if child.returncode is not None or time.monotonic() > deadline:
                raise DidNotStartError(f"Apache Kafka did not start again\n{child.tail()}")
            time.sleep(0.05)
        return self._replace(server=Server(child, self.server.port))


def _configure(
    config: Path,
    directory: Path,
    port: int,
    more: Mapping[str, str],
    listeners: Mapping[str, int],
    users: Mapping[str, str],
) -> None:
    controller = free_port()
    known = ",".join(f"{name}://{HOST}:{number}" for name, number in ({"PLAINTEXT": port} | dict(listeners)).items())
    protocols = SETTINGS["listener.security.protocol.map"] + "".join(f",{name}:{name}" for name in listeners)
    addresses = {
        "listeners": f"{known},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": known,
        "listener.security.protocol.map": protocols,
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "log.dirs": str(directory / "logs"),
    }
    config.write_text("".join(f"{name}={value}\n" for name, value in (SETTINGS | addresses | dict(more)).items()))
    if not (directory / "logs" / "meta.properties").exists():
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        argv = _java("kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(config))
        for user, password in users.items():
            argv += ["--add-scram", f"SCRAM-SHA-512=[name={user},password={password}]"]
        subprocess.run(argv, check=True, capture_output=True)


def _java(main: str, *arguments: str) -> list[str]:
    return ["java", *JAVA_OPTIONS, "-cp", f"{jars()}/*", main, *arguments]
