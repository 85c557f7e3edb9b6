"""Text that came from outside, made safe to show: no control characters, no secrets, no addresses, bounded."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Control, format (right-to-left marks, zero width), surrogate and private characters can hide what a person reads.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_SHORTEST_SECRET = 6  # shorter ones would blank ordinary words


def plain(text: str, limit: int) -> str:
    """At most `limit` characters on one line; what is cut off leaves an ellipsis."""
    # Ten times the limit is enough to fill it and keeps a megabyte of blanks from being looked at.
    shown = "".join(_visible(character) for character in text[: 10 * limit])
    shown = " ".join(shown.split())
    cut = len(text) > 10 * limit or len(shown) > limit
    return shown[: max(0, limit - 1)] + "…" if cut else shown


def scrub(text: str, secrets: Iterable[str], limit: int = 80) -> str:
    """What a receiver said, without addresses and without any of `secrets`."""
    for secret in sorted((s for s in secrets if len(s) >= _SHORTEST_SECRET), key=len, reverse=True):
        text = text.replace(secret, "***")
    return plain(_ADDRESS.sub("***", text), limit)


def url_secrets(url: str) -> list[str]:
    """The parts of a URL that must not be shown: all of it, and every piece of its path and query."""
    _, _, rest = url.partition("://")
    return [url, rest, *re.split(r"[/?&=#@]", rest)[1:]]


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    return "" if unicodedata.category(character) in _HIDDEN else character
