"""`blastdoor up` as a process of its own, with a stub for a worker: what it says, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.streams.embedded.processes import LOOPBACK, family, left, listening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., subprocess.Popen[str]]

pytestmark = pytest.mark.embedded

SCRIPT = Path(__file__).with_name("up_with_stub.py")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `up`; what is still running after the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_up(*options: str, workers: int = 1) -> subprocess.Popen[str]:
        argv = [sys.executable, str(SCRIPT), str(tmp_path / "ready.json"), str(workers), *options]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gateway'}"}
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        started.append(process)
        return process

    yield start_up
    for process in started:
        process.kill()
        process.communicate()


def ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The line that `up --json` prints once ready."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    found: dict[str, Any] = json.loads(line)
    return found


def test_says_where_everything_is(start: Start, tmp_path: Path) -> None:
    """Once ready the line and the file have the addresses of broker, Redis and each worker."""
    up = start(workers=2)
    said = ready(up)
    assert json.loads((tmp_path / "ready.json").read_text()) == said
    assert said["prefix"] == "blastdoor"
    assert len(said["workers"]) == len(set(said["http"])) == 2
    with urllib.request.urlopen(f"{said['http'][1]}/ready", timeout=30) as answer:
        assert answer.status == 200


def test_listens_on_loopback_only(start: Start) -> None:
    """No process of the family listens anywhere but on 127.0.0.1."""
    up = start()
    ready(up)
    members = family(up.pid)
    assert len(members) == 4
    assert {address.partition(":")[0] for address in listening(members)} == {LOOPBACK}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_ctrl_c_leaves_nothing(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and a closed terminal end the whole family; `up` itself ends well and takes its file along."""
    up = start(workers=2)
    ready(up)
    members = family(up.pid)
    up.send_signal(number)
    _, err = up.communicate(timeout=60)
    assert (up.returncode, left(members)) == (0, [])
    assert "nothing is left running" in err
    assert list(tmp_path.iterdir()) == []


def test_a_second_ctrl_c_waits_for_nobody(start: Start) -> None:
    """A worker deaf to SIGTERM delays the end; the next Ctrl-C ends it at once."""
    up = start("--deaf")
    ready(up)
    members = family(up.pid)
    up.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        up.wait(0.3)
    up.send_signal(signal.SIGINT)
    assert up.wait(5) == 0
    assert left(members) == []


def test_ctrl_c_before_it_is_ready(start: Start) -> None:
    """Interrupted while waiting for the worker, it ends as well, and nothing is left."""
    up = start("--unready")
    deadline = time.monotonic() + 60
    while len(members := family(up.pid)) < 4:
        assert time.monotonic() < deadline
    up.send_signal(signal.SIGINT)
    up.communicate(timeout=60)
    assert (up.returncode, left(members)) == (0, [])


def test_kill_9_leaves_nothing(start: Start) -> None:
    """The parent has no time to do anything: broker, Redis and workers end all the same."""
    up = start(workers=2)
    ready(up)
    members = family(up.pid)
    assert len(members) == 5
    up.kill()
    assert left(members) == []


def test_a_dead_worker_comes_back(start: Start) -> None:
    """A worker that dies is started again at the same address, and its last words are shown."""
    up = start()
    said = ready(up)
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(f"{said['http'][0]}/die/3", timeout=30)
    assert up.stderr is not None
    assert "worker-1 ended with 3" in up.stderr.readline()
    assert up.stderr.readline() == "the last words\n"
    assert answers(f"{said['http'][0]}/ready")


def test_a_worker_that_cannot_start_ends_it(start: Start) -> None:
    """An operator's mistake is shown as the worker puts it; nothing is tried again and nothing is left."""
    up = start("--policy", "bad.yaml")
    out, err = up.communicate(timeout=60)
    assert (up.returncode, out) == (1, "")
    assert "worker-1 ended with 2" in err
    assert "line 3: thresholds must be numbers" in err


def test_a_worker_that_dies_again_and_again_ends_it(start: Start) -> None:
    """Three deaths before it was ever ready: the last words are shown, and nothing is left."""
    up = start("--policy", "broken.yaml")
    out, err = up.communicate(timeout=60)
    assert (up.returncode, out) == (1, "")
    assert "Error: worker-1 ended with 3" in err
    assert err.count("worker-1 ended with 3") == 4  # told three times as it happened, and once more as the reason


def answers(url: str, within: float = 5.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.01)
    return False
