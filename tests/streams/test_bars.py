"""Bars for people at a terminal, nothing for anybody else."""

from __future__ import annotations

import io
import os
from pathlib import Path

from rich.console import Console

from streams.bars import FileBars


def test_a_terminal_sees_how_far_each_file_is(tmp_path: Path) -> None:
    """By its bytes on the disk, and what is finished stays until the end."""
    one, other = tmp_path / "one.log", tmp_path / "other.log.gz"
    one.write_bytes(b"x" * 1_000)
    other.write_bytes(b"x" * 4_000)
    screen = io.StringIO()
    with FileBars([one, other], Console(file=screen, force_terminal=True, width=100)) as bars:
        bars.show(one, 1_000)
        bars.show(other, 2_000)
    shown = screen.getvalue()
    assert "one.log" in shown
    assert "1.0/1.0 kB" in shown
    assert "2.0/4.0 kB" in shown


def test_a_pipe_sees_nothing(tmp_path: Path) -> None:
    """Logs and scripts get no bars."""
    file = tmp_path / "one.log"
    file.write_bytes(b"x")
    screen = io.StringIO()
    with FileBars([file, file], Console(file=screen, force_terminal=False)) as bars:
        bars.show(file, 1)
    assert screen.getvalue() == ""


def test_a_pipe_as_a_file_has_no_end(tmp_path: Path) -> None:
    """`replay <(zcat …)` is read without knowing how much there is."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with FileBars([path], Console(file=io.StringIO(), force_terminal=True)) as bars:
        bars.show(path, 7)
