"""The Lua scripts, each explained in its own file under `lua/`, and a call of one as a value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

FUNCTIONS = ("clock", "numbers", "holds", "rate", "decision", "own", "budget", "answer")
"""Files that only define functions, in the order in which they use each other. A script makes them anew each time."""

READ = ("decision_", "heartbeat", "balance_at_sync")
"""How names of keys begin that are others' to write."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and the name Redis knows it by, the SHA-1 of the text."""

    name: str
    text: str
    sha: str


class Words(NamedTuple):
    """Some keys or arguments of a command. `wire`: as they go to Redis; put together once, it serves many calls."""

    texts: tuple[str | bytes, ...]
    wire: bytes

    @classmethod
    def of(cls, *texts: str | bytes) -> Words:
        return cls(texts, b"".join([_on_wire(text) for text in texts]))


class Call(NamedTuple):
    """One call of a script. Every key it writes is among `keys`; those that it only reads are among `args`."""

    script: Script
    key_words: tuple[Words, ...]
    arg_words: tuple[Words, ...]

    @property
    def keys(self) -> tuple[str | bytes, ...]:
        return tuple(text for words in self.key_words for text in words.texts)

    @property
    def args(self) -> tuple[str | bytes, ...]:
        return tuple(text for words in self.arg_words for text in words.texts)

    def to_wire(self, *, whole: bool = False) -> bytes:
        """The command in Redis' protocol: by the script's name, or with its `whole` text where Redis lacks it."""
        command, script = (b"EVAL", self.script.text) if whole else (b"EVALSHA", self.script.sha)
        keys = sum([len(words.texts) for words in self.key_words])
        count = 3 + keys + sum([len(words.texts) for words in self.arg_words])
        parts = [b"*%d\r\n" % count, _on_wire(command), _on_wire(script), _on_wire(b"%d" % keys)]
        parts += [words.wire for words in self.key_words]
        parts += [words.wire for words in self.arg_words]
        return b"".join(parts)


def script_of(name: str, text: str) -> Script:
    """A script under a name for logs and metrics."""
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@cache
def functions() -> str:
    """All functions that the scripts share."""
    return "\n".join(_read(name) for name in (*FUNCTIONS, "at_keys"))


def call_of(script: Script, keys: Mapping[str, str], ask: Mapping[str, Any]) -> Call:
    """A call with the keys that are there, named for the script, which begins with asking.lua.

    Redis lets a user call a script only who may write every key declared to it, so what belongs to the engine is not:
    then a gate's user can be one that may not write decisions.
    """
    reads = {name: key for name, key in keys.items() if name.startswith(READ)}
    written = {name: key for name, key in keys.items() if name not in reads}
    told = _encode({**ask, "keys": list(written), "reads": reads})
    return Call(script, (Words.of(*written.values()),), (Words.of(told),))


def _on_wire(text: str | bytes) -> bytes:
    raw = text if isinstance(text, bytes) else text.encode(errors="replace")
    return b"$%d\r\n%b\r\n" % (len(raw), raw)


def _read(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")


def _load(name: str) -> Script:
    return script_of(name, "\n".join([functions(), _read("asking"), _read(name)]))


ADMIT = script_of("admit", "\n".join(_read(name) for name in (*FUNCTIONS, "admit")))
SETTLE = _load("settle")
STANDING = _load("standing")
TOP_UP = _load("top_up")
REMEMBER = _load("remember")
REPORT = _load("report")
PLANT = _load("plant")
