"""Which configured limits no call has come by yet: one that needs a user's name limits nobody if nobody is named."""

from __future__ import annotations

import logging

from blastdoor_gateway.admission import Request
from blastdoor_gateway.config import Gate

log = logging.getLogger("blastdoor.gate")

ENOUGH = 100
"""Calls after which a limit that none of them came by is worth a warning."""

# What is configured -> the field of a request without which it is not asked.
NEEDS = {"per_ip": "address", "per_user": "user", "budget": "tenant"}


class Coverage:
    """Of one process. In the path of every call, so it costs nothing once each limit has been asked."""

    def __init__(self, gate: Gate) -> None:
        limited = any(
            limit is not None
            for budget in (gate.default, *gate.tenants.values())
            for limit in (budget.daily_tokens, budget.monthly_tokens)
        )
        configured = {"per_ip": gate.per_ip is not None, "per_user": gate.per_user is not None, "budget": limited}
        self.idle = {check for check, true in configured.items() if true}
        self._calls = 0

    def note(self, request: Request) -> None:
        """One more call; says once what no call of the first ENOUGH has come by."""
        if not self.idle or self._calls >= ENOUGH:
            return
        self.idle -= {check for check in self.idle if getattr(request, NEEDS[check])}
        self._calls += 1
        if self._calls == ENOUGH and self.idle:
            parts = ", ".join(f"{check} (no {NEEDS[check]})" for check in sorted(self.idle))
            log.warning("configured, but none of the first %d calls could be held to it: %s", ENOUGH, parts)
