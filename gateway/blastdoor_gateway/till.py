"""Where a finished call is counted: here first, then the engine is told the very same."""

from __future__ import annotations

from dataclasses import dataclass

from blastdoor_gateway.admission import Admission, Outcome, Settlement
from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.events.outbox import Outbox
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.money import NO_TOKENS, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a call used. A cache hit tells the tokens it saved; they are counted nowhere."""

    tokens: Tokens
    status: str = "success"
    cache_hit: bool = False
    estimated: bool = False
    department: str = ""
    knowledge_base: str = ""


class Till:
    """`outbox` None: nobody is told. `source`: this gateway's name in the engine's policy."""

    def __init__(self, guard: Guard, outbox: Outbox | None, source: str) -> None:
        self._guard = guard
        self._outbox = outbox
        self._source = source

    async def settle(self, admission: Admission, bill: Bill) -> Settlement:
        """Count a call. An answer from our own cache has nothing to settle, but it is a request."""
        counted = NO_TOKENS if bill.cache_hit else bill.tokens
        settlement = await self._guard.settle(admission, counted, status=bill.status)
        told = settlement.outcome is not Outcome.NOTHING or admission.answer is not None
        if self._outbox is not None and told and settlement.outcome is not Outcome.REPEATED:
            self._outbox.put(self._event(admission, bill, settlement.at or admission.at))
        return settlement

    def _event(self, admission: Admission, bill: Bill, at: int) -> UsageEvent:
        request = admission.request
        return UsageEvent(
            id=request.request_id,
            ts=self._guard.core.to_text(at),
            model=request.model,
            tenant=request.tenant,
            department=bill.department,
            user=request.user,
            knowledge_base=bill.knowledge_base,
            key_hash=request.key_hash,
            tokens=bill.tokens,
            status=bill.status,
            cache_hit=bill.cache_hit,
            estimated=bill.estimated,
            source=self._source,
        )
