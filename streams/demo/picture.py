"""The closing screen as an SVG, for the README: the same text on every machine."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from rules.alerts import Kind
from rules.policy import Policy
from streams.channels.receiver import WEBHOOK
from streams.demo.arrivals import in_full
from streams.demo.closing import closing
from streams.demo.findings import Findings

WIDTH = 88
FONTS = re.compile(r"@font-face \{.*?\}\n", re.DOTALL)


def picture(found: Findings, policy: Policy) -> str:
    """Nothing in it is fetched from anywhere: the font is whatever fixed-width one there is."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    for part in closing(found, policy):
        console.print(part)
        console.print()
    hooks = (arrival for arrival in found.arrivals if arrival.channel == WEBHOOK)
    shown = {hook.id for hook in hooks if hook.body["data"]["kind"] == Kind.THRESHOLD}
    for arrival in sorted(found.arrivals, key=lambda arrival: arrival.channel):
        if arrival.id in shown:
            console.print(in_full(arrival))
    return FONTS.sub("", console.export_svg(title="blastdoor demo", unique_id="demo"))
