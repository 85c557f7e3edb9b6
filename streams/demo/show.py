"""What is told while it happens: lines that stay, and on a terminal a live view below them."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from blastdoor_gateway.contract import Decision
from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from rules.moment import Millis
from streams.channels.receiver import Arrival
from streams.demo import arrivals, live
from streams.demo.comparison import Row
from streams.demo.live import Scene
from streams.demo.words import clock, number

REFRESHES = 12  # a second


class Show:
    """The performance, as one person sees it. `animated`: with a live view; otherwise plain lines only."""

    def __init__(self, console: Console, scene: Scene, *, animated: bool) -> None:
        self.scene = scene
        self._console = console
        self._begun = time.monotonic()
        self._live = (
            Live(console=console, get_renderable=self._view, refresh_per_second=REFRESHES, transient=True)
            if animated
            else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def stage(self, text: str) -> None:
        """A new part of the performance begins."""
        self.scene.stage = text
        self._say(Text.assemble((f"{time.monotonic() - self._begun:4.1f} s  ", "dim"), text))

    def shipped(self, at: Millis) -> None:
        self.scene.shipped = at

    def decided(self, decision: Decision) -> None:
        self.scene.decision = decision

    def read(self, row: Row) -> None:
        """A reading of the balance has been decided upon."""
        self.scene.row = row
        low, high = number(row.decision.pool_low), number(row.decision.pool_high)
        self._say(
            Text.assemble(
                (clock(row.at, self.scene.zone), "cyan"),
                f"  reading {row.reading.available:,}  v6 ",
                (f"{row.believed:,}", "red" if row.v6.charged else ""),
                "  blastdoor ",
                (f"{low}–{high}", "green"),
            )
        )

    def arrived(self, arrival: Arrival) -> None:
        """The receiver got an alert. Some are shown as they look, the others in a line."""
        self.scene.arrivals += 1
        self._say(arrivals.in_full(arrival) if arrival.id in self.scene.in_full else arrivals.line(arrival))

    def _say(self, what: RenderableType) -> None:
        """A terminal cuts a line that is too long, a file gets it whole."""
        if not isinstance(what, Text):
            self._console.print(what)
        elif self._console.is_terminal:
            self._console.print(what, no_wrap=True, overflow="ellipsis")
        else:
            self._console.print(what, soft_wrap=True)

    def _view(self) -> RenderableType:
        return live.view(self.scene)
