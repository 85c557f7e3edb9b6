"""Ends a child whose parent has died by kill -9, when no code of the parent's can run any more.

On Linux the kernel does it (`PR_SET_PDEATHSIG`). It watches the *thread* that started the child, so children are
started from the main thread. Elsewhere a second small process, the watcher, reads a pipe whose other end only the
parent holds: at its end the parent is gone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

# The watcher's whole program: wait for the end of the pipe, then end the group.
WATCHER = "import os, signal, sys; sys.stdin.buffer.read(); os.killpg(int(sys.argv[1]), signal.SIGKILL)"


def kernel_guard() -> Callable[[], None] | None:
    """What the child runs between fork and exec; None where the kernel has no such service.

    Everything it calls is looked up here, before the fork: between fork and exec only the system call is made.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def die_with_parent() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent died between fork and prctl
            os._exit(1)

    return die_with_parent


def start_watcher(group: int) -> subprocess.Popen[bytes]:
    """Starts the watcher of a process group. End the watcher before the group's number can be another's."""
    return subprocess.Popen(
        [sys.executable, "-S", "-c", WATCHER, str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
