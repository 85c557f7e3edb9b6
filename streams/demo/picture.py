"""The closing screen as an SVG, and the card of a threshold as it arrived: for the README, alike on every machine."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from rules.alerts import Kind
from rules.policy import Policy
from streams.channels.receiver import FEISHU, WEBHOOK, Arrival
from streams.demo.arrivals import card
from streams.demo.closing import closing
from streams.demo.findings import Findings

WIDTH = 92
FONTS = re.compile(r"@font-face \{.*?\}\n", re.DOTALL)
CELL = 12.2  # how wide rich makes a character
INDENTED = re.compile(r'x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)" ([^>]*)>((?:&#160;)+)')


def picture(found: Findings, policy: Policy) -> str:
    """Nothing in it is fetched from anywhere: the font is whatever fixed-width one there is."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    for part in closing(found, policy):
        console.print(part)
        console.print()
    console.print(*(card(arrival) for arrival in found.arrivals if _is_card_of_threshold(arrival, found)))
    svg = console.export_svg(title="blastdoor demo", unique_id="demo")
    return INDENTED.sub(_shifted, FONTS.sub("", svg))


def _shifted(text: re.Match[str]) -> str:
    """Begins a text behind its leading blanks: some viewers drop them, and numbers must stay in their columns."""
    x, y, length, rest, blanks = text.groups()
    skipped = blanks.count(";") * CELL
    return f'x="{float(x) + skipped:.1f}" y="{y}" textLength="{float(length) - skipped:.1f}" {rest}>'


def _is_card_of_threshold(arrival: Arrival, found: Findings) -> bool:
    """A card says so in words only; the webhook of the same alert names its kind."""
    hooks = (other for other in found.arrivals if other.channel == WEBHOOK and other.id == arrival.id)
    return arrival.channel == FEISHU and any(hook.body["data"]["kind"] == Kind.THRESHOLD for hook in hooks)
