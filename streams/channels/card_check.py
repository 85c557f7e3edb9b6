"""Which properties a Feishu card of schema 2.0 may have: the real service refuses a card with any other.

Only the elements that blastdoor and its neighbours use are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TEXT = {"tag", "element_id", "content", "i18n_content", "text_size", "text_color", "text_align", "lines", "icon"}
TITLE = {"tag", "content", "i18n_content"}
COMMON = {"tag", "element_id", "margin"}

CARD = {"schema", "config", "card_link", "header", "body"}
CONFIG = {
    *("streaming_mode", "streaming_config", "summary", "locales", "enable_forward", "update_multi", "width_mode"),
    *("use_custom_translation", "enable_forward_interaction", "style"),
}
HEADER = {"title", "subtitle", "text_tag_list", "i18n_text_tag_list", "template", "icon", "padding"}
BODY = {
    *("direction", "padding", "elements"),
    *("horizontal_spacing", "horizontal_align", "vertical_spacing", "vertical_align"),
}
ELEMENTS = {
    "div": COMMON | {"text", "icon", "fields", "width"},
    "markdown": COMMON | {"content", "i18n_content", "text_size", "text_align", "icon"},
    "hr": COMMON,
    "button": COMMON
    | {"type", "size", "width", "text", "icon", "hover_tips", "disabled", "disabled_tips", "confirm", "behaviors"}
    | {"name", "required", "form_action_type"},
}
BEHAVIOUR = {"type", "default_url", "pc_url", "ios_url", "android_url"}
TEMPLATES = {
    *("blue", "wathet", "turquoise", "green", "yellow", "orange", "red", "carmine", "violet", "purple", "indigo"),
    *("grey", "default"),
}


def faults(card: Any) -> Iterator[str]:
    """What is wrong with a card of schema 2.0, as `path: reason`; nothing for a good one."""
    if not isinstance(card, dict):
        yield "card: not an object"
        return
    yield from _unknown("card", card, CARD)
    yield from _unknown("config", card.get("config", {}), CONFIG)
    if card.get("config", {}).get("update_multi", True) is not True:
        yield "config.update_multi: must be true"
    yield from _header(card.get("header", {}))
    body = card.get("body", {})
    yield from _unknown("body", body, BODY)
    for number, element in enumerate(body.get("elements", [])):
        yield from _element(f"body.elements[{number}]", element)


def _header(header: dict[str, Any]) -> Iterator[str]:
    yield from _unknown("header", header, HEADER)
    for name in ("title", "subtitle"):
        yield from _text(f"header.{name}", header.get(name, {}), TITLE)
    tags = header.get("text_tag_list", [])
    if len(tags) > 3:
        yield "header.text_tag_list: more than 3"
    for number, tag in enumerate(tags):
        yield from _unknown(f"header.text_tag_list[{number}]", tag, {"tag", "element_id", "text", "color"})
        yield from _text(f"header.text_tag_list[{number}].text", tag.get("text", {}), TITLE)
    if header.get("template", "default") not in TEMPLATES:
        yield "header.template: no such colour"


def _element(path: str, element: dict[str, Any]) -> Iterator[str]:
    allowed = ELEMENTS.get(element.get("tag", ""))
    if allowed is None:
        yield f"{path}.tag: no such element"
        return
    yield from _unknown(path, element, allowed)
    if "text" in element:
        yield from _text(f"{path}.text", element["text"], TEXT)
    if element["tag"] == "markdown" and not isinstance(element.get("content"), str):
        yield f"{path}.content: missing"
    for behaviour in element.get("behaviors", []):
        yield from _unknown(f"{path}.behaviors", behaviour, BEHAVIOUR)
        if behaviour.get("type") != "open_url":
            yield f"{path}.behaviors: a custom bot's buttons can only open URLs"


def _text(path: str, text: dict[str, Any], allowed: set[str]) -> Iterator[str]:
    yield from _unknown(path, text, allowed)
    if text and text.get("tag") not in ("plain_text", "lark_md"):
        yield f"{path}.tag: neither plain_text nor lark_md"
    if text and not isinstance(text.get("content"), str):
        yield f"{path}.content: missing"


def _unknown(path: str, found: Any, allowed: set[str]) -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{path}: not an object"
        return
    for name in found:
        if name not in allowed:
            yield f"{path}.{name}: unknown property"
