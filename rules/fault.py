"""A mistake of the operator as data: where it stands, and what was meant. Checkers gather all before they complain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from msgspec import Struct

Path = tuple[str | int, ...]
"""The way to a value in a parsed document: keys of mappings, numbers of list items."""

Lines = Mapping[Path, int]
"""The line on which each value of a document begins, counted from 1."""

_LONGEST_SHOWN = 40
_URL = "(a URL)"


class Fault(Struct, frozen=True, order=True):
    """One mistake. `line` is 0 where the document has no lines; `path` is empty for the document as a whole."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def fault(path: Path, message: str, lines: Lines) -> Fault:
    """A mistake at `path`; where that has no line of its own (a missing key), its nearest container lends one."""
    return Fault(_line(path, lines), written(path), message)


def _line(path: Path, lines: Lines) -> int:
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 0)


def written(path: Path) -> str:
    """A path as a person writes it: `models.default.max_lag`, `rules[2].when`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{masked(part)}"
    return text.removeprefix(".")


def shown(value: object) -> str:
    """A value for a message: short, and never anything that may hold a secret."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    if isinstance(value, str):
        text = masked(value)
        return f"'{text}'" if text and text != _URL else text or "an empty text"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    # Python refuses to print very long numbers.
    return "a huge number" if isinstance(value, int) and value.bit_length() > 64 else masked(str(value))


def masked(text: str) -> str:
    """Printable and short. A URL may carry a token, so none is ever repeated."""
    if "://" in text:
        return _URL
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"


def meant(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the likeliest one, or all of them when they are few."""
    words = sorted(known)
    if near := nearest(word, words):
        return f"; did you mean '{masked(near)}'?"
    return f"; known: {', '.join(map(masked, words))}" if 0 < len(words) <= 8 else ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    return next(iter(get_close_matches(word[:_LONGEST_SHOWN], list(known), n=1)), None)
