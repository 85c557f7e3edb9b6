"""The format of rows on a step's changelog, and how they are read after any crash.

Rule 1: a flush is whole or absent. A row is written as `<name>@<owner><slot>` = `[flush, value]`, alternating between
        two slots, so that a broken-off flush never overwrites the version before it. The owner's place row,
        `@<owner>`, comes last and makes the flush valid.
Rule 2: an owner's rows stand alone. A new owner writes every row anew under its own tag before anything of the former
        owner is removed, so nothing a former owner still writes ("zombie") can mix with them.
Rule 3: the newest owner with a place row wins. Tags grow: the time of the assignment, but above every tag seen, then
        a random tail.

Hence what is recovered is the state after exactly the first `position` records: no row is ahead of it, none behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from rules.moment import Millis
from streams.delivery.errors import MalformedRowError

SCHEMA = 1
"""Of the format above.

Raise it with every change a former program would misread; a newer one is refused, never guessed at.
"""

_KEY = re.compile(rb"(?P<name>.*)@(?P<owner>[0-9a-f]{16})(?P<slot>[01]?)", re.DOTALL)
_EPOCH_DIGITS = 12  # milliseconds in hexadecimal: enough until the year 10889


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """An owner's place row: the state of flush `flush` includes all records before `position`."""

    flush: int
    incarnation: int
    position: int
    record: str = ""  # fingerprint of the last record before `position`; empty: none was consumed
    schema: int = SCHEMA

    def encode(self) -> bytes:
        return msgspec.json.encode(self)


class Recovered(NamedTuple):
    """The state found on a changelog.

    `place` is None when no flush was ever finished; `keys` is everything of ours that lies there, `foreign` the keys of
    what somebody else has put there: it can mean nothing to us, and is left where it is.
    """

    owner: str
    place: Place | None
    values: dict[str, msgspec.Raw]
    keys: list[bytes]
    foreign: list[bytes]


def new_owner(now: Millis, tail: int, newest: str = "") -> str:
    """A tag above `newest`. `tail` is random, below 65,536: two owners of the same instant stay apart."""
    epoch = max(now, int(newest[:_EPOCH_DIGITS], 16) + 1) if newest else now
    return f"{epoch:0{_EPOCH_DIGITS}x}{tail:04x}"


def row_key(name: str, owner: str, slot: int) -> bytes:
    """Where a version of a row lies. Raises ValueError on an empty name, which is the place's."""
    if not name:
        msg = "a row needs a name"
        raise ValueError(msg)
    return f"{name}@{owner}{slot}".encode()


def place_key(owner: str) -> bytes:
    return f"@{owner}".encode()


def encode_row(flush: int, value: Any) -> bytes:
    """A row as of `flush`; None marks it deleted (a tombstone would make the version before it visible again)."""
    return msgspec.json.encode([flush] if value is None else [flush, value])


def recover(rows: Mapping[bytes, bytes]) -> Recovered:
    """The newest whole state among rows of any number of owners. Raises MalformedRowError."""
    places, slots, foreign = _by_owner(rows)
    ours = [key for key in rows if key not in foreign]
    newest = max((*places, *slots), default="")
    if not places:
        return Recovered(newest, None, {}, ours, sorted(foreign))
    owner = max(places)
    place = _decode_place(rows[places[owner]], places[owner])
    values: dict[str, msgspec.Raw] = {}
    for name, keys in slots.get(owner, {}).items():
        value = _as_of(place.flush, [rows[key] for key in keys], name)
        if value is not None:
            values[name] = value
    return Recovered(newest, place, values, ours, sorted(foreign))


def _by_owner(
    rows: Mapping[bytes, bytes],
) -> tuple[dict[str, bytes], dict[str, dict[str, list[bytes]]], set[bytes]]:
    """The keys of place rows by owner, the keys of the others by owner and name, and those that are not ours."""
    places: dict[str, bytes] = {}
    slots: dict[str, dict[str, list[bytes]]] = {}
    foreign: set[bytes] = set()
    for key in rows:
        match = _KEY.fullmatch(key)
        name = None if match is None or bool(match["name"]) != bool(match["slot"]) else _text(match["name"])
        if match is None or name is None:
            foreign.add(key)
        elif match["slot"]:
            slots.setdefault(match["owner"].decode(), {}).setdefault(name, []).append(key)
        else:
            places[match["owner"].decode()] = key
    return places, slots, foreign


def _as_of(flush: int, versions: list[bytes], name: str) -> msgspec.Raw | None:
    """The value of the latest version that is part of `flush`; None if it is deleted or was not there yet."""
    best: tuple[int, msgspec.Raw | None] = (0, None)
    for raw in versions:
        found = _decode_row(raw, name)
        if best[0] < found[0] <= flush:
            best = found
    return best[1]


def _decode_row(raw: bytes, name: str) -> tuple[int, msgspec.Raw | None]:
    try:
        flush, *value = msgspec.json.decode(raw, type=list[msgspec.Raw])
        return msgspec.json.decode(flush, type=int), value[0] if value else None
    except (msgspec.DecodeError, ValueError) as error:
        msg = f"row {name!r} is no [flush, value]: {raw[:80]!r}"
        raise MalformedRowError(msg) from error


def _decode_place(raw: bytes, key: bytes) -> Place:
    try:
        schema = msgspec.json.decode(raw, type=dict[str, Any]).get("schema")
        if schema != SCHEMA:
            age = "newer" if isinstance(schema, int) and schema > SCHEMA else "older or unknown"
            msg = f"rows of {key.decode()!r} have the {age} schema {schema}, this program knows {SCHEMA}: "
            msg += "run the version that wrote them"
            raise MalformedRowError(msg)
        return msgspec.json.decode(raw, type=Place)
    except msgspec.DecodeError as error:
        msg = f"the position row {key.decode()!r} cannot be read ({error}): {raw[:80]!r}"
        raise MalformedRowError(msg) from error


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
