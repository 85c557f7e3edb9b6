"""Rows as an earlier life stored them, perhaps of another version. One that cannot be understood is named and refused,
never guessed at: read as something else it would make a wrong total."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec


class UnknownRowError(Exception):
    """A stored row has a shape that this program does not know."""


@contextmanager
def reading(key: str) -> Iterator[None]:
    """Name the row in whatever turns out to be wrong with it."""
    try:
        yield
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as error:
        raise UnknownRowError(f"the row {key!r} cannot be understood ({error})") from error


def as_stored(key: str, row: Any, kind: Any) -> Any:
    """A row as what it was stored as, a type that msgspec knows."""
    with reading(key):
        return msgspec.convert(row, kind)
