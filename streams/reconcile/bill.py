"""A bill as a file: what the provider counted, and charged, by day and model.

    day,model,tokens,charged                     CSV with a head; `charged` may be missing or empty
    2026-08-13,deepseek-v4-flash,1893211,0

or one JSON object a line with the same names, from a file or (-) standard input. Several lines of one day and model add
up.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from rules.reconcile import Billed, Key

STDIN = Path("-")
HEAD = ("day", "model", "tokens")
LARGEST = 64 * 1024 * 1024
MOST_TOKENS = 10**15


class BadBillError(Exception):
    """A file that is no bill; the message names file, line and field."""


def read_bill(path: Path, canonical: Callable[[str], str]) -> dict[Key, Billed]:
    """The bill of a file, models under their one name. Raises BadBillError."""
    try:
        content = _content(path)
        if len(content) > LARGEST:
            raise BadBillError(f"{path}: larger than {LARGEST:,} bytes")
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadBillError(f"{path}: {getattr(error, 'strerror', None) or 'no text'}") from error
    found: dict[Key, Billed] = {}
    for line, row in _rows(text, path):
        key, billed = _entry(row, f"{path}:{line}")
        key = (key[0], canonical(key[1]))
        found[key] = _sum(found.get(key), billed)
    return found


def _content(path: Path) -> bytes:
    """Not much more than is allowed, however much there is."""
    if path == STDIN:
        return sys.stdin.buffer.read(LARGEST + 1)
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _table(text: str, path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    try:
        missing = [name for name in HEAD if name not in (reader.fieldnames or ())]
        if missing:
            raise BadBillError(
                f"{path}:1: the head of the columns lacks {', '.join(missing)}: day,model,tokens[,charged]"
            )
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise BadBillError(f"{path}:{reader.line_num + 1}: {error}") from error


def _rows(text: str, path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    if not text.lstrip().startswith("{"):
        yield from _table(text, path)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict):
                raise BadBillError(f"{path}:{number}: no JSON object")
            yield number, row


def _entry(row: Mapping[str, Any], place: str) -> tuple[Key, Billed]:
    day, model = row.get("day"), row.get("model")
    try:
        day = date.fromisoformat(str(day)).isoformat()
    except ValueError:
        raise BadBillError(f"{place}: day: {day!r} is not a date like 2026-08-13") from None
    if not isinstance(model, str) or not model.strip():
        raise BadBillError(f"{place}: model: missing")
    charged = row.get("charged")
    return (day, model.strip()), Billed(
        tokens=_tokens(row.get("tokens"), f"{place}: tokens"),
        charged=None if charged in (None, "") else _tokens(charged, f"{place}: charged"),
    )


def _tokens(value: Any, place: str) -> int:
    text = str(value).replace(",", "").replace("_", "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 16 or int(text) > MOST_TOKENS:
        raise BadBillError(f"{place}: {str(value)[:40]!r} is no number of tokens")
    return int(text)


def _sum(before: Billed | None, more: Billed) -> Billed:
    if before is None:
        return more
    charged = None if before.charged is None and more.charged is None else (before.charged or 0) + (more.charged or 0)
    return Billed(tokens=before.tokens + more.tokens, charged=charged)
