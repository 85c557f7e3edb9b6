"""The Lua scripts of this package, each explained in its own file, and a call of one as a value."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and the name Redis knows it by, the SHA-1 of the text."""

    text: str
    sha: str


class Call(NamedTuple):
    """One call of a script. Every key it touches is among `keys`."""

    script: Script
    keys: tuple[str, ...]
    args: tuple[str | int, ...]


def _load(name: str) -> Script:
    text = (files(__package__) / f"{name}.lua").read_text(encoding="utf-8")
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


DECISION = _load("decision")
LEGACY = _load("legacy")
HEARTBEAT = _load("heartbeat")
ALL = (DECISION, LEGACY, HEARTBEAT)
