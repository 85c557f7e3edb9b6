"""Starts a server on a free port of 127.0.0.1 and waits until it answers in its own protocol."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from streams.embedded.children import Child

HOST = "127.0.0.1"
ATTEMPTS = 3  # another process may take the port between our look and the server's bind
POLL_SECONDS = 0.01


class MissingPartError(RuntimeError):
    """The wheel that brings a part is not installed."""


class DidNotStartError(RuntimeError):
    """A part ended or kept silent instead of answering; the message carries the end of its output."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has answered."""

    child: Child
    port: int

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"


def free_port() -> int:
    """A port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def serve(
    name: str,
    argv: Callable[[int], Sequence[str]],
    answers: Callable[[socket.socket], bool],
    *,
    log: Path | None = None,
    within: float = 10.0,
) -> Server:
    """Starts `argv(port)` and returns once `answers` has said yes on a connection. Raises DidNotStartError."""
    attempts = ATTEMPTS
    while True:
        attempts -= 1
        port = free_port()
        child = Child(name, argv(port), log=log)
        try:
            _await_answer(child, port, answers, within)
        except BaseException as problem:
            ended_by_itself = child.kill() >= 0
            if not (isinstance(problem, DidNotStartError) and ended_by_itself and attempts):
                raise
        else:
            return Server(child, port)


def _await_answer(child: Child, port: int, answers: Callable[[socket.socket], bool], within: float) -> None:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if child.returncode is not None:
            break
        if asked(port, answers) and child.returncode is None:
            return
        time.sleep(POLL_SECONDS)
    what = "gave no answer" if child.returncode is None else f"ended with {child.returncode}"
    msg = f"the embedded {child.name} {what}\n{child.tail()}".rstrip()
    raise DidNotStartError(msg)


def asked(port: int, answers: Callable[[socket.socket], bool]) -> bool:
    """Whether something that `answers` as it should listens there."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            return answers(connection)
    except OSError:
        return False
