"""What is left to read when all is over: the comparison, the keys a gateway reads, the alerts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rules.policy import Policy
from streams.channels.receiver import WEBHOOK, Arrival
from streams.demo.arrivals import channel_of
from streams.demo.findings import Findings
from streams.demo.keys import keys
from streams.demo.policy import CHANNELS
from streams.demo.table import comparison, lessons
from streams.demo.words import clock, heading


def closing(found: Findings, policy: Policy) -> Iterator[RenderableType]:
    """From top to bottom, with an empty line between any two."""
    zone = policy.calendar().zone
    if found.rows:
        yield heading("What each formula would have allowed")
        yield comparison(found.rows, zone, policy.default)
        yield Group(*lessons(found.rows, found.held, zone))
    yield keys(found)
    yield _alerts(found.arrivals, zone)


def _alerts(arrived: Sequence[Arrival], zone: tzinfo) -> RenderableType:
    """Each alert once, with a mark for each channel it came by."""
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    for _ in CHANNELS:
        grid.add_column(style="green", width=1)
    grid.add_column(style="cyan", width=len("08-13 11:22:00"))
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for sent in (arrival for arrival in arrived if arrival.channel == WEBHOOK):
        came = {channel_of(other) for other in arrived if other.id == sent.id}
        data = sent.body["data"]
        marks = ("✓" if name in came else " " for name in CHANNELS)
        grid.add_row(*marks, clock(data["at"], zone), Text(data["title"]))
    return Group(heading(f"The alerts that arrived, by {' and '.join(CHANNELS)}"), Text(), grid)
