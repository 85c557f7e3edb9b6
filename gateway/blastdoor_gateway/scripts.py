"""The Lua scripts, each explained in its own file under `lua/`, and a call of one as a value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

FUNCTIONS = ("clock", "numbers", "holds", "rate", "decision", "own")
"""Files that only define functions, in the order in which they use each other."""


READ = ("decision_", "heartbeat", "balance_at_sync")
"""How names of keys begin that are others' to write."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text and the name Redis knows it by, the SHA-1 of the text."""

    name: str
    text: str
    sha: str


class Call(NamedTuple):
    """One call of a script. Every key it writes is among `keys`; those that it only reads are named in `ask`."""

    script: Script
    keys: tuple[str, ...]
    ask: str


def script_of(name: str, text: str) -> Script:
    """A script under a name for logs and metrics."""
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@cache
def functions() -> str:
    """All functions that the scripts share."""
    return "\n".join(_read(name) for name in FUNCTIONS)


def call_of(script: Script, keys: Mapping[str, str | None], ask: Mapping[str, Any]) -> Call:
    """A call with the keys that are there, named for the script.

    Redis lets a user call a script only who may write every key declared to it, so what belongs to the engine is not:
    then a gate's user can be one that may not write decisions.
    """
    given = {name: key for name, key in keys.items() if key is not None}
    reads = {name: key for name, key in given.items() if name.startswith(READ)}
    written = {name: key for name, key in given.items() if name not in reads}
    return Call(script, tuple(written.values()), _encode({**ask, "keys": list(written), "reads": reads}))


def _read(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")


def _load(name: str) -> Script:
    return script_of(name, "\n".join([functions(), _read("asking"), _read(name)]))


ADMIT = _load("admit")
SETTLE = _load("settle")
STANDING = _load("standing")
TOP_UP = _load("top_up")
REMEMBER = _load("remember")
REPORT = _load("report")
PLANT = _load("plant")
