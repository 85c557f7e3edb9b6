"""How to find out whether a part is on this machine. Each answer is None when it is, else what is missing."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from streams.embedded import broker, redis_server
from streams.embedded.server import MissingPartError
from tests.chromium import PROGRAMS, program
from tests.kafka import apache

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
LITELLM = ROOT / ".cache" / "litellm" / "bin" / "litellm"
CORE = ROOT / "native" / "counting.so"


@cache
def embedded() -> str | None:
    try:
        broker.find_binary()
        redis_server.find_binary()
    except MissingPartError as problem:
        return str(problem)
    return None


@cache
def redis7() -> str | None:
    program = shutil.which("redis-server")
    if program is None:
        return "no redis-server on the PATH"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    version = next((word[2:] for word in said.split() if word.startswith("v=")), "0")
    return None if int(version.split(".")[0]) >= 7 else f"{program} is version {version}, needs 7"


@cache
def kafka() -> str | None:
    return apache.missing()


@cache
def alertmanager() -> str | None:
    return None if shutil.which("prometheus-alertmanager") else "no prometheus-alertmanager on the PATH"


@cache
def prometheus() -> str | None:
    absent = [program for program in ("prometheus", "promtool") if shutil.which(program) is None]
    return f"no {' and no '.join(absent)} on the PATH" if absent else None


@cache
def litellm() -> str | None:
    return None if LITELLM.exists() else f"no {LITELLM.relative_to(ROOT)}"


@cache
def chromium() -> str | None:
    return None if program() else f"none of {', '.join(PROGRAMS)} on the PATH"


@cache
def native() -> str | None:
    if not CORE.exists():
        return f"no {CORE.relative_to(ROOT)}, see `make native`"
    try:
        ctypes.CDLL(str(CORE))
    except OSError as problem:
        return str(problem)
    return None


PARTS: dict[str, Callable[[], str | None]] = {
    "embedded": embedded,
    "redis7": redis7,
    "kafka": kafka,
    "alertmanager": alertmanager,
    "prometheus": prometheus,
    "litellm": litellm,
    "chromium": chromium,
    "native": native,
}
