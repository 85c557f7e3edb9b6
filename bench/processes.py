"""Processes that are measured: what they use of CPU and memory, and what they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.embedded.children import Child

ROOT = Path(__file__).parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")


class ConsumerFailed(RuntimeError):  # noqa: N818 - a state of the world
    """A process ended without a report; the message carries the end of its output."""


class PartMissing(RuntimeError):  # noqa: N818 - a state of the world
    """What a row is measured with is not on this machine; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a consumer measured about itself."""

    events: int
    seconds: float
    cpu: float
    peak_mb: float

    @property
    def rate(self) -> float:
        return self.events / self.seconds


def module(name: str, *arguments: object, python: str = sys.executable) -> list[str]:
    """The command line of a module of this repository."""
    return [python, "-m", name, *map(str, arguments)]


def consume(name: str, *arguments: object, python: str = sys.executable, within: float = 120.0) -> Report:
    """Run a consumer to its end."""
    child = Child(name, module(f"bench.consumers.{name}", *arguments, python=python))
    try:
        child.wait(within)
        return Report(**last_json(child))
    except subprocess.TimeoutExpired as error:
        raise ConsumerFailed(f"{name} read too little in {within:.0f} s\n{child.tail()}") from error
    finally:
        child.kill()


def last_json(child: Child) -> dict[str, Any]:
    """The report among the last lines of a process."""
    for line in reversed(child.tail().splitlines()):
        if '{"events"' in line:  # programs that draw on the terminal may have left something before it
            return dict(json.loads(line[line.index("{") :]))
    raise ConsumerFailed(f"{child.name} ended with {child.returncode}\n{child.tail()}")


def start(name: str, *arguments: object, within: float = 30.0) -> Child:
    """A process that has said, by its first line, that it is ready."""
    child = Child(name, module(f"bench.{name}", *arguments))
    deadline = time.monotonic() + within
    while not child.tail():
        if child.returncode is not None or time.monotonic() > deadline:
            raise ConsumerFailed(f"{name} did not get ready\n{child.tail()}")
        time.sleep(0.02)
    return child


def cpu_seconds(pid: int) -> float:
    """CPU used by a process so far, all threads; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_mb(pid: int) -> float:
    """The most memory a process ever held; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
