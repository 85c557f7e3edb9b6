"""Rotation while nobody looks, while somebody does, and under load: no line is lost and none given twice."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.ship.places import Place
from streams.ship.tail import Tail


def append(path: Path, *lines: str) -> None:
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def all_of(tail: Tail) -> list[str]:
    found = []
    while lines := tail.poll():
        found += [line.body.decode() for line in lines]
    return found


def renamed(log: Path) -> Path:
    """As logrotate does by default: `.1` becomes `.2`, the log becomes `.1`."""
    for number in range(60, 0, -1):
        for suffix in ("", ".gz"):
            old = log.with_name(f"{log.name}.{number}{suffix}")
            if old.exists():
                old.rename(log.with_name(f"{log.name}.{number + 1}{suffix}"))
    return log.rename(log.with_name(f"{log.name}.1"))


def packed(path: Path, how: str = ".gz") -> Path:
    """As gzip does: the time of the last change is kept."""
    pack: Callable[[bytes], bytes] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[how]
    target, changed = path.with_name(f"{path.name}{how}"), path.stat()
    target.write_bytes(pack(path.read_bytes()))
    os.utime(target, (changed.st_atime, changed.st_mtime))
    path.unlink()
    return target


def copied(log: Path) -> Path:
    """As logrotate's copytruncate does."""
    target = log.with_name(f"{log.name}.1")
    shutil.copy2(log, target)
    os.truncate(log, 0)
    return target


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "gate.log"


@pytest.fixture
def place(log: Path) -> Place:
    """Two lines were shipped, then the shipper was stopped; two more were written."""
    append(log, "one", "two")
    tail = Tail(log)
    assert all_of(tail) == ["one", "two"]
    found = tail.place()
    assert found is not None
    tail.close()
    append(log, "three", "four")
    return found


def test_renamed_while_stopped(log: Path, place: Place) -> None:
    """The rest of the old file, then the new one."""
    renamed(log)
    append(log, "five")
    assert all_of(Tail(log, place)) == ["three", "four", "five"]


@pytest.mark.parametrize("how", [".gz", ".bz2", ".xz"])
def test_renamed_and_packed_while_stopped(log: Path, place: Place, how: str) -> None:
    """The place is found in the unpacked bytes."""
    packed(renamed(log), how)
    append(log, "five")
    assert all_of(Tail(log, place)) == ["three", "four", "five"]


def test_rotated_three_times_while_stopped(log: Path, place: Place) -> None:
    """Every file in between is read whole, oldest first."""
    for number, lines in enumerate([["five"], ["six", "seven"], ["eight"]]):
        renamed(log)
        append(log, *lines)
        os.utime(log, (number + 2e9, number + 2e9))
    packed(log.with_name("gate.log.2"))
    assert all_of(Tail(log, place)) == ["three", "four", "five", "six", "seven", "eight"]


def test_copied_and_cut_short_while_stopped(log: Path, place: Place) -> None:
    """The same file, another content: the copy has the rest."""
    copied(log)
    append(log, "five", "six", "seven")
    assert all_of(Tail(log, place)) == ["three", "four", "five", "six", "seven"]


def test_copied_and_cut_short_while_looking(log: Path) -> None:
    """What was written between the last look and the copy is in the copy."""
    append(log, "one", "two")
    tail = Tail(log)
    assert all_of(tail) == ["one", "two"]
    with log.open("a") as file:
        file.write("three\nfo")
    copied(log)
    append(log, "five")
    assert all_of(tail) == ["three", "fo", "five"]


def test_dated_names_are_found(log: Path, place: Place) -> None:
    """logrotate's dateext, with and without the extension kept at the end."""
    log.rename(log.with_name("gate-20260813.log"))
    append(log, "five")
    os.utime(log, (2e9, 2e9))
    log.rename(log.with_name("gate.log-20260814"))
    append(log, "six")
    assert all_of(Tail(log, place)) == ["three", "four", "five", "six"]


def test_other_files_beside_it_are_left_alone(log: Path, place: Place) -> None:
    """Neither another log nor a copy under another name is taken for a rotation of this one."""
    for name in ("gate.log.bak", "gate.log.swp", "gate2.log", "other.log.1"):
        shutil.copy2(log, log.with_name(name))
    renamed(log)
    append(log, "five")
    assert all_of(Tail(log, place)) == ["three", "four", "five"]


def test_a_file_that_lies_there_twice_is_read_once(log: Path, place: Place) -> None:
    """While it is being packed."""
    old = renamed(log)
    shutil.copy2(old, log.with_name("keep"))
    packed(old)
    shutil.copy2(log.with_name("keep"), old)
    append(log, "five")
    assert all_of(Tail(log, place)) == ["three", "four", "five"]


def test_a_damaged_remain_stops_nothing(log: Path, place: Place) -> None:
    """What can be read of it is; the present file follows."""
    target = packed(renamed(log))
    target.write_bytes(target.read_bytes()[:-6])
    append(log, "five")
    assert all_of(Tail(log, place))[-1] == "five"


def test_a_writer_that_is_late_is_waited_for(log: Path) -> None:
    """Lines written to the old file after its rename, until it has been quiet for as long as was said."""
    now = 0.0
    append(log, "one")
    tail = Tail(log, quiet=2.0, monotonic=lambda: now)
    assert all_of(tail) == ["one"]
    old = renamed(log)
    append(log, "three")
    now = 1.0
    append(old, "two")
    assert all_of(tail) == ["two"]
    now = 2.9
    assert all_of(tail) == []
    now = 3.0
    assert all_of(tail) == ["three"]


def test_a_writer_that_never_leaves_is_not(log: Path) -> None:
    """After half a minute the new file has its turn, whatever is still written to the old one."""
    now = 0.0
    append(log, "old 0")
    tail = Tail(log, quiet=2.0, monotonic=lambda: now)
    all_of(tail)
    old = renamed(log)
    append(log, "new")
    found = []
    while "new" not in found:
        now += 1.0
        append(old, f"old {now:.0f}")
        found += all_of(tail)
    assert now <= 32


def test_remains_are_no_place_to_go_on_from(log: Path, place: Place) -> None:
    """A stop amid them begins with them again: repeats are recognised, gaps are not."""
    renamed(log)
    append(log, "five")
    tail = Tail(log, place)
    assert [line.body for line in tail.poll()] == [b"three", b"four"]
    assert tail.place() is None
    assert all_of(tail) == ["five"]
    assert tail.place() is not None


@pytest.mark.parametrize("pack", [False, True], ids=["renamed", "renamed and packed"])
def test_a_rotated_log_under_load(log: Path, pack: bool) -> None:
    """20,000 lines in bursts, rotated 40 times in between while it is followed: each comes once."""
    count, done = 20_000, threading.Event()

    def write() -> None:
        for first in range(0, count, 500):
            append(log, *(f"line {n}" for n in range(first, first + 500)))
            old = renamed(log)
            if pack and first % 1000:
                packed(old)
        append(log, "end")
        done.set()

    log.touch()
    tail, found = Tail(log), list[str]()
    assert tail.poll() == []
    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set() or "end" not in found[-1:]:
        found += [line.body.decode() for line in tail.poll()]
    writer.join()
    assert len(found) == len(set(found)) == count + 1
