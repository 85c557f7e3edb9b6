"""`blastdoor demo` as a process of its own: it shows what it must, and nothing is left behind, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.streams.embedded.processes import family, left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[[], subprocess.Popen[str]]

pytestmark = pytest.mark.embedded

ROOT = Path(__file__).parents[3]
MEMBERS = 4  # itself, broker, Redis, worker


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the demo without a terminal; what is still running after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_demo() -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "gateway"), os.environ.get("PYTHONPATH", "")]),
            "PYTHONUNBUFFERED": "1",
            "PYTHONUTF8": "1",
            "COLUMNS": "80",
            "TMPDIR": str(tmp_path),
        }
        argv = [sys.executable, "-m", "streams", "demo"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, stdout=pipe, stderr=pipe, text=True, env=environment, encoding="utf-8")
        started.append(process)
        return process

    yield start_demo
    for process in started:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> list[int]:
    """All processes of the demo, once it has said that the parts are ready."""
    assert process.stdout is not None
    for line in process.stdout:
        if "ready after" in line:
            members = family(process.pid)
            assert len(members) == MEMBERS
            return members
    pytest.fail(process.communicate()[1])


def worker(members: list[int]) -> int:
    return next(pid for pid in members[1:] if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))


def test_shows_both_incidents(start: Start, tmp_path: Path) -> None:
    """It ends well within a minute, with the numbers of both days, each alert, and what to try next at the end."""
    begun = time.monotonic()
    demo = start()
    members = ready(demo)
    out, err = demo.communicate(timeout=60)
    assert (demo.returncode, err) == (0, "")
    assert time.monotonic() - begun < 60
    numbers = ("2,242,178", "2,391,794", "149,616", "2,800,128", "2,293,004", "665,268", "BLOCKED")
    assert [number for number in numbers if number not in out] == []
    assert out.count("✓ ✓ 08-1") == 5
    assert "已用到每日上限的 80%" in out
    assert "What to try next" in out.splitlines()[-10:]
    assert (left(members), list(tmp_path.iterdir())) == ([], [])


def test_ctrl_c_leaves_nothing(start: Start, tmp_path: Path) -> None:
    """In the midst of it: no process, no file, one line that says so."""
    demo = start()
    members = ready(demo)
    demo.send_signal(signal.SIGINT)
    _, err = demo.communicate(timeout=60)
    assert (demo.returncode, err) == (130, "stopped, nothing is left running\n")
    assert (left(members), list(tmp_path.iterdir())) == ([], [])


def test_a_dead_worker_fails_the_demo(start: Start, tmp_path: Path) -> None:
    """With what became of it; the other parts end as well."""
    demo = start()
    members = ready(demo)
    os.kill(worker(members), signal.SIGKILL)
    _, err = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert "Error: worker-1 was ended by signal 9" in err
    assert (left(members), list(tmp_path.iterdir())) == ([], [])
