"""A message as a Feishu card, in both versions of the card format.

Whatever came from outside (names, reasons) stands in `plain_text` elements only: nobody can put a link or @all there.
"""

from __future__ import annotations

from typing import Any

from rules.alerts import Severity
from streams.channels.layout import Line, Message

GOOD = "green"
COLOURS = {Severity.INFO: "blue", Severity.WARNING: "orange", Severity.CRITICAL: "red"}

Json = dict[str, Any]


def card(message: Message, schema: str) -> Json:
    """The card in format "2.0", or "1.0" for anything else."""
    return _version_2(message) if schema == "2.0" else _version_1(message)


def _version_2(message: Message) -> Json:
    """Elements sit under `body`; a property the format does not know is an error."""
    elements = [_text(_lines(message)), _rule(), *_sections(message)]
    if message.link is not None:
        elements.append(_button(message.link, behaviors=[{"type": "open_url", "default_url": message.link.text}]))
    elements.append({"tag": "div", "text": _plain(message.foot) | {"text_size": "notation", "text_color": "grey"}})
    return {
        "schema": "2.0",
        "config": {"update_multi": True, "width_mode": "fill"},
        "header": _header(message),
        "body": {"direction": "vertical", "elements": elements},
    }


def _version_1(message: Message) -> Json:
    """For clients before 7.20."""
    elements = [_text(_lines(message)), _rule(), *_sections(message)]
    if message.link is not None:
        elements.append({"tag": "action", "actions": [_button(message.link, url=message.link.text)]})
    elements.append({"tag": "note", "elements": [_plain(message.foot)]})
    return {"config": {"wide_screen_mode": True}, "header": _header(message), "elements": elements}


def _header(message: Message) -> Json:
    colour = GOOD if message.good else COLOURS[message.severity]
    return {
        "template": colour,
        "title": _plain(message.title),
        "subtitle": _plain(message.subject),
        "text_tag_list": [{"tag": "text_tag", "text": _plain(message.tag), "color": colour}],
    }


def _lines(message: Message) -> str:
    return "\n".join(f"{line.label}{message.colon}{line.text}" for line in message.lines)


def _sections(message: Message) -> list[Json]:
    return [part for section in message.sections for part in (_heading(section.label), _text(section.text))]


def _heading(words: str) -> Json:
    """Headings are our own words, so markup is safe in them."""
    return {"tag": "markdown", "content": f"**{words}**"}


def _text(content: str) -> Json:
    return {"tag": "div", "text": _plain(content)}


def _plain(content: str) -> Json:
    return {"tag": "plain_text", "content": content}


def _rule() -> Json:
    return {"tag": "hr"}


def _button(link: Line, **target: Any) -> Json:
    return {"tag": "button", "type": "primary", "text": _plain(link.label), **target}
