"""How far files have been read, on a terminal; on anything else nothing is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class FileBars:
    """One bar for each file, by its bytes as they lie on the disk (packed, where it is packed)."""

    def __init__(self, files: Sequence[Path], console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self._tasks: dict[Path, TaskID] = {
            file: self._progress.add_task(file.name, total=_size(file)) for file in dict.fromkeys(files)
        }

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, source: Path, position: int) -> None:
        """A file has been read up to this byte."""
        self._progress.update(self._tasks[source], completed=position)


def _size(file: Path) -> int | None:
    """Bytes on the disk; None of a pipe, whose end nobody knows."""
    return file.stat().st_size if file.is_file() else None
