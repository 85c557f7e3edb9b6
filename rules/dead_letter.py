"""A dead letter: what could not be used, why, and where it stood. Nothing is thrown away without one."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from rules.moment import Millis
from rules.records import Reason, Rejected

KEPT = 16 * 1024
"""So many bytes of the body are kept."""


class DeadLetter(Struct, frozen=True, kw_only=True):
    """`origin` (file:line, or topic/partition/offset) is the Kafka key: the same record always has the same one."""

    reason: Reason
    detail: str
    size: int  # of the whole record, in bytes
    body: bytes  # its beginning; base64 on the wire
    origin: str
    at: Millis  # when it was found

    @classmethod
    def of(cls, body: bytes, rejected: Rejected, origin: str, at: Millis, size: int | None = None) -> DeadLetter:
        """The letter of a rejected record; `size` where `body` is not the whole of it."""
        whole = len(body) if size is None else size
        return cls(reason=rejected.reason, detail=rejected.detail, size=whole, body=body[:KEPT], origin=origin, at=at)

    @property
    def key(self) -> bytes:
        """The Kafka key."""
        return self.origin.encode()

    def encode(self) -> bytes:
        """One JSON object."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, raw: bytes) -> DeadLetter:
        """The inverse of `encode`. Raises msgspec.DecodeError for anything else."""
        return msgspec.json.decode(raw, type=cls)
