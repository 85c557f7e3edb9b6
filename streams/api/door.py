"""Who may send what: bearer tokens of the policy, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from rules.policy import Sender
from rules.records import Calibration, Clock, Control, Reading, Record, Refusal, Usage

_KINDS: dict[type[Record], str] = {
    Usage: "usage",
    Refusal: "usage",
    Reading: "balances",
    Calibration: "balances",
    Control: "controls",
    Clock: "clock",  # nobody's to send
}


def kind_of(record: Record) -> str:
    """What a sender must be allowed to send."""
    return _KINDS[type(record)]


class Door:
    """Knows every sender by the digest of its token."""

    def __init__(self, senders: Iterable[Sender]) -> None:
        self.adopt(senders)

    def adopt(self, senders: Iterable[Sender]) -> None:
        """Know these from the next request on."""
        self._known = [(_digest(sender.token), sender) for sender in senders]

    @property
    def is_locked(self) -> bool:
        """Nobody has a token."""
        return not self._known

    def admit(self, authorization: str) -> Sender | None:
        """The sender of a request. All tokens are compared, equal in length and to the end, whichever fits."""
        scheme, _, token = authorization.partition(" ")
        shown = _digest(token.strip() if scheme.lower() == "bearer" else "")
        found = None
        for digest, sender in self._known:
            if hmac.compare_digest(digest, shown):
                found = sender
        return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
