"""The live view: how far shipping and deciding are, and the newest decision with its reason."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import tzinfo

from blastdoor_gateway.contract import Decision
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rules.moment import Millis
from streams.demo.band import BELIEF, LIMIT, MARK, Band, legend
from streams.demo.comparison import Row
from streams.demo.witness import decided_at
from streams.demo.words import ACTIONS, clock, number

SCALE = 3_200_000  # tokens at the right edge of the band: more than any formula believes in


@dataclass(kw_only=True)
class Scene:
    """What there is to be seen. Changed as things happen, drawn whenever the terminal is."""

    ticks: tuple[Millis, ...]
    zone: tzinfo
    stage: str = ""
    shipped: Millis | None = None
    decision: Decision | None = None
    row: Row | None = None
    arrivals: int = 0
    in_full: frozenset[str] = frozenset()  # ids of the alerts to be shown as they look


def view(scene: Scene) -> RenderableType:
    """A dozen lines."""
    parts = [_progress(scene)]
    if scene.decision is not None:
        parts.append(_decision(scene, scene.decision))
    return Group(*parts)


def _progress(scene: Scene) -> Panel:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(width=8)
    grid.add_column(ratio=1)
    grid.add_column(width=14, no_wrap=True)
    decided = decided_at(scene.decision) if scene.decision is not None else None
    for name, at, colour in (("shipped", scene.shipped, "cyan"), ("decided", decided, "green")):
        done = bisect_right(scene.ticks, at) if at is not None else 0
        bar = ProgressBar(total=len(scene.ticks), completed=done, complete_style=colour, finished_style=colour)
        grid.add_row(name, bar, clock(at, scene.zone) if at is not None else "…")
    grid.add_row("alerts", Text(f"{scene.arrivals} arrived at the receiver"), "")
    return Panel(grid, title=scene.stage, title_align="left", border_style="dim")


def _decision(scene: Scene, decision: Decision) -> Panel:
    reason = Text.assemble((f" {decision.action} ", f"reverse {ACTIONS[decision.action]}"), " ", decision.reason)
    wall = f" ({decision.wall})" if decision.wall else ""
    facts = Text(f"rule {decision.rule} · limit {number(decision.limit)}{wall}", style="dim", no_wrap=True)
    marks = []
    if decision.limit is not None:
        marks.append((decision.limit, LIMIT))
        facts.append(f" {MARK}", style=LIMIT)
    if scene.row is not None and scene.row.decision.day == decision.day:
        marks.append((scene.row.believed, BELIEF))
        facts.append_text(Text.assemble(f" · v6: {scene.row.believed:,}", (f" {MARK}", BELIEF)))
    band = Band(
        used=decision.used or 0, low=decision.pool_low, high=decision.pool_high, scale=SCALE, marks=tuple(marks)
    )
    title = f"newest decision · {clock(decided_at(decision), scene.zone)}"
    colour = ACTIONS[decision.action].split()[-1]
    return Panel(Group(reason, facts, band, legend(band)), title=title, title_align="left", border_style=colour)
