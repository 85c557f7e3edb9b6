"""A request's body becomes the bytes of its records: one object, an array, or one object a line, told apart by content.

The content type is not asked: gateways send arrays and lines alike as `application/json`. CloudEvents come as one
(structured) or as an array (batch).
"""

from __future__ import annotations

import msgspec

from rules.intake.litellm import mended

MOST_RECORDS = 5_000
"""In one request; more would keep everything else in the process waiting for too long."""

_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_WHITE = b" \t\r\n\xef\xbb\xbf"


class BadBodyError(Exception):
    """A body that cannot be cut into records."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


def records(body: bytes) -> list[bytes]:
    """The records of a body, at least one. Raises BadBodyError."""
    first = body.lstrip(_WHITE)[:1]
    found = _of_array(body) if first == b"[" else _of_lines(body)
    if not found:
        raise BadBodyError(400, "no record in the body")
    if len(found) > MOST_RECORDS:
        raise BadBodyError(413, f"{len(found):,} records; up to {MOST_RECORDS:,} are taken at once")
    return found


def _of_array(body: bytes) -> list[bytes]:
    body = body.lstrip(_WHITE)
    try:
        return [bytes(item) for item in _items(body)]
    except RecursionError:
        raise BadBodyError(400, "JSON is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        # A client's half a character makes the whole array unreadable, which many other calls would pay for.
        return [bytes(item) for item in _items(mended(body))]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadBodyError(400, f"no JSON array: {error}"[:200]) from None


def _of_lines(body: bytes) -> list[bytes]:
    """An object may be written over several lines, as long as it stands alone."""
    whole = body.strip(_WHITE)
    lines = [line for line in whole.split(b"\n") if line.strip()]
    if len(lines) > 1 and _is_one(whole):
        return [whole]
    return [line.strip(_WHITE) for line in lines]


def _is_one(whole: bytes) -> bool:
    try:
        msgspec.json.decode(whole, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
