"""How a Feishu custom bot judges a request: what the receiver answers where the real service cannot be asked."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from typing import Any

from rules.moment import Millis
from streams.channels.card_check import faults
from streams.channels.feishu import BAD_SIGNATURE, MALFORMED, signature

MOST_BYTES = 20 * 1024
HOUR_SECONDS = 3600

Answer = tuple[int, str]  # code and message


def judge(body: bytes, secret: str, keyword: str, now: Millis) -> Answer:
    """0 for a card that the bot would post. An empty `secret` or `keyword` switches that check off."""
    if len(body) > MOST_BYTES:
        return 19036, "request body too large"
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return MALFORMED, "Bad Request"
    if secret and not _signed(found, secret, now):
        return BAD_SIGNATURE, "sign match fail or timestamp is not within one hour from current time"
    wrong = next(_wrong(found), None)
    if wrong is not None:
        return 19002, f"params error, {wrong}"
    if keyword and not any(keyword in text for text in texts(found)):
        return 19024, "Key Words Not Found"
    return 0, "success"


def texts(found: Any) -> Iterator[str]:
    """All text values of a message: where keywords are looked for, and what a person reads."""
    if isinstance(found, dict):
        if isinstance(found.get("content"), str):
            yield found["content"]
        for value in found.values():
            yield from texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)


def _signed(found: dict[str, Any], secret: str, now: Millis) -> bool:
    timestamp, sign = found.get("timestamp"), found.get("sign")
    if not isinstance(timestamp, str) or not isinstance(sign, str) or not timestamp.isdigit():
        return False
    fresh = abs(int(timestamp) - now // 1000) <= HOUR_SECONDS
    return fresh and hmac.compare_digest(sign.encode(), signature(timestamp, secret).encode())


def _wrong(found: dict[str, Any]) -> Iterator[str]:
    if found.get("msg_type") != "interactive":
        yield "msg_type: only cards are expected here"
        return
    card = found.get("card")
    if not isinstance(card, dict):
        yield "card: missing"
    elif card.get("schema", "1.0") == "2.0":
        yield from faults(card)
    elif not isinstance(card.get("elements"), list):
        yield "card.elements: missing"  # the old format ignores what it does not know
