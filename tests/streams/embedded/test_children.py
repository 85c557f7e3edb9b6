"""Children leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from streams.embedded.children import Child
from tests.streams.embedded.processes import gone, left

if TYPE_CHECKING:
    from pathlib import Path

SLEEPER = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)"]
DEAF = ["sh", "-c", "trap '' TERM; echo deaf; sleep 60"]

# A parent that starts a child of its own, says its pid, and waits to be killed.
PARENT = """
import sys, time
from streams.embedded.children import Child
child = Child("sleeper", ["sleep", "60"], kernel_guards=sys.argv[1] == "kernel")
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("guard", ["kernel", "watcher"])
def test_a_child_dies_with_a_parent_that_is_killed(guard: str) -> None:
    """kill -9 of the parent ends the child, with the kernel's help or with the watcher's."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT, guard], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert not gone(child)
    parent.kill()
    parent.communicate()
    assert left([child]) == []


def test_stop_asks_first() -> None:
    """A child that heeds SIGTERM ends by it."""
    child = Child("sleeper", SLEEPER)
    assert child.stop() == -signal.SIGTERM


def test_stop_does_not_wait_for_ever() -> None:
    """A child that ignores SIGTERM is killed after the patience."""
    child = Child("deaf", DEAF)
    while "deaf" not in child.tail():
        assert child.returncode is None
    assert child.stop(patience=0.1) == -signal.SIGKILL


def test_stop_reaches_what_the_child_started() -> None:
    """The whole process group is ended, not the first process only."""
    child = Child("shell", ["sh", "-c", "sleep 60 & echo $!; wait"])
    while not (said := child.tail().split()):
        assert child.returncode is None
    child.stop()
    assert left([int(said[0])]) == []


def test_the_output_is_kept_for_those_who_ask_why() -> None:
    """`tail` has the last lines that the child wrote, on either stream."""
    child = Child("talker", ["sh", "-c", "echo one; echo two >&2; echo three; exit 3"])
    assert child.wait() == 3
    assert child.tail(lines=2) == "two\nthree"
    child.stop()


def test_a_named_log_keeps_every_life(tmp_path: Path) -> None:
    """Children that follow one another under one name append to its log."""
    log = tmp_path / "logs" / "talker.log"
    for word in ("first", "second"):
        Child("talker", ["echo", word], log=log).wait()
    assert log.read_text().split() == ["first", "second"]


def test_stopping_twice_is_stopping_once() -> None:
    """After the end neither stop nor kill signals a number that may be another's."""
    child = Child("short", ["true"])
    assert child.wait() == 0
    assert child.stop() == 0
    assert child.kill() == 0


def test_a_child_gets_no_interrupt_from_the_terminal() -> None:
    """A child has a process group of its own, so Ctrl-C reaches the parent alone."""
    child = Child("sleeper", SLEEPER)
    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
    child.stop()
