"""The check of cards by which the local receiver refuses what the real service would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from streams.channels.card_check import faults
from streams.channels.cards import card
from streams.channels.messages import message

Spoil = Callable[[dict[str, Any]], Any]

SPOILED: dict[str, tuple[Spoil, str]] = {
    "at the top": (lambda c: c.update(elements=[]), "card.elements: unknown property"),
    "in the config": (lambda c: c["config"].update(wide_screen_mode=True), "config.wide_screen_mode: unknown property"),
    "not shared": (lambda c: c["config"].update(update_multi=False), "config.update_multi: must be true"),
    "in the header": (lambda c: c["header"].update(colour="red"), "header.colour: unknown property"),
    "no such colour": (lambda c: c["header"].update(template="pink"), "header.template: no such colour"),
    "too many tags": (lambda c: c["header"].update(text_tag_list=[{}] * 4), "header.text_tag_list: more than 3"),
    "in the body": (lambda c: c["body"].update(foo=1), "body.foo: unknown property"),
    "in an element": (lambda c: c["body"]["elements"][0].update(href=1), "body.elements[0].href: unknown property"),
    "in a text": (lambda c: c["body"]["elements"][0]["text"].update(x=1), "body.elements[0].text.x: unknown property"),
    "an element of 1.0": (
        lambda c: c["body"]["elements"].insert(0, {"tag": "note"}),
        "body.elements[0].tag: no such element",
    ),
    "a callback": (
        lambda c: c["body"]["elements"].insert(0, {"tag": "button", "behaviors": [{"type": "callback"}]}),
        "body.elements[0].behaviors: a custom bot's buttons can only open URLs",
    ),
    "no content": (lambda c: c["body"]["elements"].insert(0, {"tag": "markdown"}), "body.elements[0].content: missing"),
    "no text": (lambda c: c["header"]["title"].pop("content"), "header.title.content: missing"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_each_fault_is_named(name: str, make_alert) -> None:
    """A good card with one thing spoiled has exactly that fault."""
    spoil, fault = SPOILED[name]
    spoiled = card(message(make_alert(), "zh", ZoneInfo("Asia/Shanghai")), "2.0")
    assert list(faults(spoiled)) == []
    spoil(spoiled)
    assert list(faults(spoiled)) == [fault]


@pytest.mark.parametrize("nonsense", [None, [], "card", 1])
def test_a_card_is_an_object(nonsense: object) -> None:
    """Anything else is a fault, not a crash."""
    assert list(faults(nonsense)) == ["card: not an object"]
