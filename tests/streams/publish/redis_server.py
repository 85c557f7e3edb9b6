"""A Redis of one's own for a test: started, stopped, frozen, on a free port of 127.0.0.1."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError


class RedisServer:
    """One process. `start` after `stop` serves the same address again, with nothing in it."""

    def __init__(self, binary: str, directory: Path, *options: str) -> None:
        self._command = [binary, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *options]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Returns when the server answers."""
        self._process = subprocess.Popen(
            [*self._command, "--port", str(self.port), "--dir", str(self._directory)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 60
        with self.client() as client:
            while True:
                try:
                    client.ping()
                except RedisConnectionError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
                else:
                    return

    def stop(self) -> None:
        """End the process, whatever state it is in."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def freeze(self) -> None:
        """It keeps its connections and answers nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def client(self) -> Redis:
        """A blocking client for a test's own questions."""
        return Redis.from_url(self.url, decode_responses=True)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
