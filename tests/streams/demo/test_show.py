"""What is told while it happens."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from streams.demo.live import Scene
from streams.demo.show import Show
from tests.streams.demo.conftest import ZONE

if TYPE_CHECKING:
    from blastdoor_gateway.contract import Decision

    from streams.demo.findings import Findings
    from streams.demo.recordings import Recordings


def perform(console: Console, recordings: Recordings, findings: Findings, *, animated: bool) -> str:
    """Everything that happens in a performance, one thing after another; what was printed."""
    scene = Scene(ticks=recordings.ticks, zone=ZONE, in_full=frozenset({findings.arrivals[2].id}))
    with Show(console, scene, animated=animated) as show:
        show.stage("on their way")
        for row in findings.rows:
            show.shipped(row.at)
            show.decided(row.decision)
            show.read(row)
        for arrival in findings.arrivals:
            show.arrived(arrival)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_without_a_terminal_there_are_plain_lines(recordings: Recordings, findings: Findings) -> None:
    """A line for each reading and alert, whole however long, and nothing that moves a cursor."""
    said = perform(Console(file=StringIO(), width=80), recordings, findings, animated=False)
    assert "\x1b" not in said
    lines = said.splitlines()
    assert "08-13 11:22:00  reading 1,726,526  v6 2,391,794  blastdoor 2,241,913–2,242,328" in lines
    unread = "模型 deepseek-v4-flash-ga-260731 有用量但没有余额读数"
    assert lines.count(f"✓ feishu-main  {unread}") == lines.count(f"✓ webhook-main {unread}") == 2
    assert not any("newest decision" in line for line in lines)


def test_a_threshold_is_shown_as_it_looks(recordings: Recordings, findings: Findings) -> None:
    """Card and webhook in full; the others in a line."""
    said = perform(Console(file=StringIO(), width=80), recordings, findings, animated=False)
    assert said.count("对费用的影响") == 1
    assert said.count("webhook-signature:") == 1


@pytest.mark.parametrize("width", [80, 120])
def test_on_a_terminal_there_is_a_live_view(recordings: Recordings, findings: Findings, width: int) -> None:
    """Below the lines that stay; it is wiped in the end."""
    console = Console(file=StringIO(), width=width, height=24, force_terminal=True, color_system="truecolor")
    said = perform(console, recordings, findings, animated=True)
    assert "newest decision · 08-13 11:22:00" in said
    assert said.endswith(("\x1b[2K", "\x1b[?25h"))


def test_the_newest_is_shown(recordings: Recordings, findings: Findings, decisions: list[Decision]) -> None:
    """The scene holds what came last, and counts arrivals."""
    console, scene = Console(file=StringIO()), Scene(ticks=recordings.ticks, zone=ZONE)
    show = Show(console, scene, animated=False)
    for decision in decisions:
        show.decided(decision)
    for arrival in findings.arrivals:
        show.arrived(arrival)
    assert (scene.decision, scene.arrivals) == (decisions[-1], len(findings.arrivals))
