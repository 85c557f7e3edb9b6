"""Following growing files, through stops and crashes, on the embedded broker."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

import pytest

from streams.settings import Settings
from streams.ship.places import Places
from streams.ship.run import Job, ship
from streams.ship.tally import Tally

pytestmark = pytest.mark.embedded
ROOT = Path(__file__).parents[3]


def events(*numbers: int) -> bytes:
    line = '{"type":"usage","id":"e-%d","ts":"2026-08-13T11:08:00+08:00","model":"m","total_tokens":1}\n'
    return b"".join((line % number).encode() for number in numbers)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


class Follower:
    """A shipper that follows files, with its places beside the first."""

    def __init__(self, target: Any, *files: Path) -> None:
        self.tally = Tally()
        self._reached = dict.fromkeys(files, -1)
        self._moved = asyncio.Event()
        self._job = Job(
            settings=Settings(kafka=target.kafka, prefix=target.prefix),
            sources=files,
            zone=ZoneInfo("UTC"),
            places=Places(files[0].with_suffix(".place"), "target"),
            progress=self._note,
        )

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(ship(self._job, self.tally))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await self._task

    async def reached(self, file: Path) -> None:
        """Wait until all of a file has been acknowledged and remembered."""
        size = file.stat().st_size  # noqa: ASYNC240
        while self._reached[file] < size:
            self._moved.clear()
            await self._moved.wait()

    def _note(self, source: Path, position: int) -> None:
        self._reached[source] = position
        self._moved.set()


async def arrived(target: Any, count: int) -> list[str]:
    return sorted(record.key.decode() for record in await target.read_all(target.topics.usage, count))


async def test_lines_are_shipped_as_they_are_written(target: Any, tmp_path: Path) -> None:
    """Of several files, also of one that is not there yet; half a line waits."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(events(1) + events(2)[:20])
    async with Follower(target, first, second):
        assert await arrived(target, 1) == ["e-1"]
        append(first, events(2)[20:])
        append(second, events(3))
        assert await arrived(target, 3) == ["e-1", "e-2", "e-3"]


async def test_a_second_run_goes_on_where_the_first_ended(target: Any, tmp_path: Path) -> None:
    """Nothing is shipped twice; what was written in between is not missed."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(events(1, 2))
    async with Follower(target, file) as follower:
        await follower.reached(file)
    append(file, events(3))
    async with Follower(target, file) as follower:
        await follower.reached(file)
    assert follower.tally.sent == {"usage": 1}
    assert await arrived(target, 3) == ["e-1", "e-2", "e-3"]


async def test_with_the_place_forgotten_everything_is_shipped_again(target: Any, tmp_path: Path) -> None:
    """Twins land beside their twins, where the meter knows them."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(events(1, 2))
    async with Follower(target, file) as follower:
        await follower.reached(file)
    file.with_suffix(".place").unlink()
    async with Follower(target, file) as follower:
        await follower.reached(file)
    found = await target.read_all(target.topics.usage, 4)
    assert len({(record.partition, record.key) for record in found}) == 2


async def test_a_truncated_file_loses_nothing(target: Any, tmp_path: Path) -> None:
    """What stood in it has been shipped, what is written then is shipped too."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(events(1, 2))
    async with Follower(target, file) as follower:
        await follower.reached(file)
        os.truncate(file, 0)
        append(file, events(3, 4, 5))
        assert await arrived(target, 5) == [f"e-{n}" for n in range(1, 6)]


def shipper(target: Any, file: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "streams", "ship", "--follow", str(file), "--place", str(file.with_suffix(".place"))]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'gateway'}"}
    return subprocess.Popen([*argv, *target.options], cwd=ROOT, env=environment, stdout=subprocess.PIPE)


async def test_killed_shippers_lose_nothing(target: Any, tmp_path: Path) -> None:
    """`kill -9` again and again while lines are written: every event arrives, each with its twins in one partition."""
    file = tmp_path / "a.jsonl"
    file.touch()
    written = 0
    for _ in range(3):
        process = shipper(target, file)
        append(file, events(*range(written, written + 5000)))
        written += 5000
        await target.read_all(target.topics.usage, written - 3000)
        process.kill()
        process.wait()
    process = shipper(target, file)
    found = await target.read_all(target.topics.usage, written)
    while len({record.key for record in found}) < written:
        found = await target.read_all(target.topics.usage, len(found) + 1)
    process.kill()
    process.wait()
    assert len({(record.partition, record.key) for record in found}) == written


async def test_rotation_and_kills_together_lose_nothing(target: Any, tmp_path: Path) -> None:
    """The log is rotated while it is followed, while the shipper is dead, and packed: every event arrives."""
    file = tmp_path / "a.jsonl"
    file.touch()
    written = 0
    for turn in range(4):
        process = shipper(target, file)
        for _ in range(2):
            append(file, events(*range(written, written + 1000)))
            written += 1000
        await target.read_all(target.topics.usage, written - 1500)
        process.kill()
        process.wait()
        append(file, events(*range(written, written + 1000)))
        written += 1000
        old = file.rename(tmp_path / f"a.jsonl.{4 - turn}")
        if turn % 2:
            packed = old.with_name(f"{old.name}.gz")
            packed.write_bytes(gzip.compress(old.read_bytes()))
            old.unlink()
        append(file, events(written))
        written += 1
    process = shipper(target, file)
    found = await target.read_all(target.topics.usage, written)
    while len({record.key for record in found}) < written:
        found = await target.read_all(target.topics.usage, len(found) + 1)
    process.kill()
    process.wait()
    assert len({(record.partition, record.key) for record in found}) == written


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_is_an_orderly_end(target: Any, tmp_path: Path, how: signal.Signals) -> None:
    """What was under way is acknowledged, the summary is printed, the exit code is 0."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(events(1, 2))
    process = shipper(target, file)
    assert len(await target.read_all(target.topics.usage, 2)) == 2
    process.send_signal(how)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.decode().splitlines()[1].split() == ["usage", "2"]
