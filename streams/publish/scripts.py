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

    def to_wire(self) -> bytes:
        """The command in Redis' protocol. The client's own way of writing it takes three times as long."""
        words = ["EVALSHA", self.script.sha, str(len(self.keys)), *self.keys, *map(str, self.args)]
        return b"*%d\r\n%b" % (len(words), b"".join([_on_wire(word) for word in words]))


def _on_wire(word: str) -> bytes:
    raw = word.encode(errors="replace")  # a damaged name must not stop all others
    return b"$%d\r\n%b\r\n" % (len(raw), raw)


def _load(name: str) -> Script:
    text = (files(__package__) / f"{name}.lua").read_text(encoding="utf-8")
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


DECISION = _load("decision")
LEGACY = _load("legacy")
HEARTBEAT = _load("heartbeat")
ALL = (DECISION, LEGACY, HEARTBEAT)
