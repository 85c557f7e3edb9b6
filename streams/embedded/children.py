"""Child processes that leave nothing behind: not on Ctrl-C, not on an error, not when the parent dies by kill -9.

A child has a process group of its own, so that Ctrl-C in the terminal reaches the parent alone, which then stops its
children in order. Its output goes to a file without a name (it vanishes with the last process that holds it) or to a
named one on request.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from streams.embedded.guard import kernel_guard, start_watcher

TAIL_BYTES = 16 * 1024


class Child:
    """A running child process. Start it from the main thread (see guard.py), and `stop` it in the end."""

    def __init__(self, name: str, argv: Sequence[str], *, log: Path | None = None, kernel_guards: bool = True) -> None:
        """Starts `argv`. `kernel_guards=False` takes the watcher process even where the kernel could watch."""
        self.name = name
        self._output = _open_log(log)
        guard = kernel_guard() if kernel_guards else None
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            process_group=0,
            preexec_fn=guard,  # noqa: PLW1509  one system call, looked up before the fork
        )
        self._watcher = start_watcher(self.pid) if guard is None else None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end. Raises subprocess.TimeoutExpired."""
        return self._process.wait(timeout)

    def stop(self, patience: float = 10.0) -> int:
        """SIGTERM to the group; after `patience` seconds SIGKILL. Returns the exit code."""
        self.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.wait(patience)
        return self.kill()

    def terminate(self) -> None:
        """SIGTERM to the group; does not wait."""
        self._signal(signal.SIGTERM)

    def kill(self) -> int:
        """Ends the group at once and collects the exit code."""
        self._signal(signal.SIGKILL)
        code = self.wait()
        self._dismiss_watcher()
        return code

    def tail(self, lines: int = 20) -> str:
        """The last lines of its output. Read without seeking: the child shares the position of this file."""
        size = os.fstat(self._output.fileno()).st_size
        kept = os.pread(self._output.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
        return "\n".join(kept.decode(errors="replace").splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        """Only while the child is not collected: afterwards the group's number may be another's."""
        if self.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _dismiss_watcher(self) -> None:
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()
            self._watcher = None


def _open_log(path: Path | None) -> IO[bytes]:
    """A named log is appended to: the next child of that name does not overwrite the last one's words."""
    if path is None:
        return tempfile.TemporaryFile(prefix="blastdoor-")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a+b")
