"""What a person at a terminal sees while lines are shipped. On anything but a terminal: nothing."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from streams.ship.sources import STDIN
from streams.ship.tally import Tally


class Display:
    """A line for each source, with a bar where its end is known, and what has been acknowledged so far."""

    def __init__(self, tally: Tally, *, follow: bool) -> None:
        self._tally = tally
        self._follow = follow
        self._tasks: dict[Path, TaskID] = {}
        console = Console(stderr=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[sent]}"))
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, source: Path, position: int) -> None:
        """A source has been shipped up to this position."""
        sent = f"{self._tally.sent.total():,} records, {self._tally.sent['dead letters']:,} dead letters"
        self._progress.update(self._task(source), completed=position, sent=sent)

    def _task(self, source: Path) -> TaskID:
        if source not in self._tasks:
            known = source != STDIN and not self._follow
            total = source.stat().st_size if known else None
            self._tasks[source] = self._progress.add_task(source.name, total=total, sent="")
        return self._tasks[source]
