"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> str:
    """One line: processor, cores, memory, versions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parts = [f"{cores} cores {_processor()}", _memory(), f"Python {platform.python_version()}"]
    parts.append(f"aiokafka {version('aiokafka')}")
    return ", ".join(part for part in parts if part)


def busy() -> float:
    """How many processes, on average over the last minute, wanted a core that was not theirs."""
    cores = os.cpu_count() or 1
    return max(0.0, os.getloadavg()[0] - cores / 2)


def _processor() -> str:
    found = _field("/proc/cpuinfo", "model name")
    return found or platform.processor() or platform.machine()


def _memory() -> str:
    found = _field("/proc/meminfo", "MemTotal")
    return f"{int(found.split()[0]) / 1e6:.0f} GB" if found else ""


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
