"""Alerts as the receiver got them: the Feishu card as a person sees it, the webhook as a program does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from streams.channels.receiver import FEISHU, Arrival
from streams.demo.policy import CHANNELS

COLOURS = {"red": "red", "orange": "dark_orange", "blue": "blue"}
SHOWN = ("kind", "severity", "scope", "used", "limit", "pool_low", "pool_high")


def channel_of(arrival: Arrival) -> str:
    """The policy's name of the channel it came by."""
    return next(name for name, kind in CHANNELS.items() if kind == arrival.channel)


def title(arrival: Arrival) -> str:
    """What it says, in a line."""
    if arrival.channel == FEISHU:
        return str(arrival.body["card"]["header"]["title"]["content"])
    return str(arrival.body["data"]["title"])


def proof(arrival: Arrival) -> str:
    """How the receiver knows that it is genuine."""
    return "card signed" if arrival.channel == FEISHU else "signature verified"


def line(arrival: Arrival) -> Text:
    """An arrival in a line."""
    return Text.assemble(("✓ ", "green"), (f"{channel_of(arrival):<12}", "bold"), " ", title(arrival))


def in_full(arrival: Arrival) -> Panel:
    """As it looks where it arrives."""
    return card(arrival) if arrival.channel == FEISHU else webhook(arrival)


def card(arrival: Arrival) -> Panel:
    """The Feishu card, laid out as Feishu does: coloured head, lines, headed paragraphs, foot."""
    content = arrival.body["card"]
    header = content["header"]
    colour = COLOURS.get(header["template"], "white")
    tag = header["text_tag_list"][0]["text"]["content"]
    head = Text.assemble((f" {tag} ", f"reverse {colour}"), " ", (header["title"]["content"], f"bold {colour}"))
    lines = [_element(element) for element in content["body"]["elements"]]
    return Panel(
        Group(head, *lines), title=f"[bold]{channel_of(arrival)}[/]  ✓ {proof(arrival)}", border_style=colour,
        title_align="left", padding=(0, 1),
    )  # fmt: skip


def _element(element: dict[str, Any]) -> RenderableType:
    if element["tag"] == "hr":
        return Rule(style="dim")
    if element["tag"] == "markdown":
        return Text(element["content"].strip("*"), style="bold")
    text = element["text"]
    return Text(text["content"], style="dim" if text.get("text_size") == "notation" else "")


def webhook(arrival: Arrival) -> Panel:
    """The webhook's request: the headers that matter, and the beginning of its data."""
    return Panel(
        Group(*_webhook_lines(arrival)), title=f"[bold]{channel_of(arrival)}[/]  ✓ {proof(arrival)}",
        title_align="left", border_style="green", padding=(0, 1),
    )  # fmt: skip


def _webhook_lines(arrival: Arrival) -> Iterator[Text]:
    def pair(name: str, value: object, colour: str) -> Text:
        return Text.assemble((f"{name}: ", "dim"), (str(value), colour), no_wrap=True, overflow="ellipsis")

    yield pair("webhook-id", arrival.id, "cyan")
    yield pair("webhook-signature", "v1, … ✓ HMAC-SHA256 over id, timestamp and body", "green")
    yield pair("type", arrival.body["type"], "")
    yield pair("timestamp", arrival.body["timestamp"], "")
    data = arrival.body["data"]
    for name in SHOWN:
        if name in data:
            yield pair(f"data.{name}", data[name], "")
