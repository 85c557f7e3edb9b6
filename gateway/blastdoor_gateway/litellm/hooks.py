"""What happens before and after a call, without LiteLLM's own classes.

Which way it falls: if admission itself breaks (a mistake of ours), the call is refused or let through as
`failure.model` says, never answered with a 500. If settling breaks, the reservation ends with its lease.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from blastdoor_gateway.address import networks
from blastdoor_gateway.admission import Admission, Do, Layer, Request
from blastdoor_gateway.config import Falls
from blastdoor_gateway.events.outbox import Outbox
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.litellm.call import mapping_of, request_from, tenant_of, text_of
from blastdoor_gateway.litellm.ticket import Ticket, ticket_for
from blastdoor_gateway.litellm.used import Used, used_of
from blastdoor_gateway.money import Tokens
from blastdoor_gateway.till import Bill, Till

log = logging.getLogger("blastdoor.gate")

BROKEN = "gate-error"


class Hooks:
    """`outbox` None: nobody is told of usage. `source`: this gateway's name in the engine's policy."""

    def __init__(self, guard: Guard, outbox: Outbox | None, source: str = "litellm") -> None:
        self.guard = guard
        self._till = Till(guard, outbox, source)
        self._proxies = networks(guard.gate.proxies)

    async def admit(self, key: Any, data: Mapping[str, Any], call_type: str) -> Admission:
        """Before the call. The ticket is with this task from here on."""
        request = Request(request_id="", model="unknown")
        try:
            request = request_from(self.guard.gate, self._proxies, key, data, call_type)
            admission = await self.guard.admit_request(request)
        except Exception:
            log.exception("admission failed by a mistake of the gate")
            admission = self._broken(request)
        Ticket(text_of(data.get("litellm_call_id")), admission).keep()
        return admission

    async def succeeded(self, kwargs: Mapping[str, Any]) -> None:
        """A call came to its end, also at the end of a stream or when the client went away."""
        used, ticket = used_of(kwargs), ticket_for(kwargs)
        if ticket is None:
            await self._count_unadmitted(kwargs, used)
        elif not ticket.finished:
            await self._finish(ticket, used)

    async def attempt_failed(self, kwargs: Mapping[str, Any]) -> None:
        """One attempt failed; LiteLLM may try again. What it had used already is not lost."""
        ticket, used = ticket_for(kwargs), used_of(kwargs)
        tokens = 0 if used.tokens is None or used.cache_hit else used.tokens.total
        if tokens == 0:
            return
        if ticket is None:
            await self._count_unadmitted(kwargs, used)
        elif ticket.finished:
            await self._finish_late(ticket, used)
        else:
            ticket.failed_tokens += tokens

    async def failed(self, data: Mapping[str, Any]) -> None:
        """The request is over without an answer: refused by us, by another hook, or every attempt failed."""
        ticket = ticket_for(data)
        if ticket is not None and not ticket.finished and ticket.admission.allowed:
            await self._finish(ticket, Used(tokens=Tokens(0), status="failure"))

    async def _finish(self, ticket: Ticket, used: Used) -> None:
        ticket.finished = True
        tokens, estimated = _tokens_of(ticket.admission, used)
        if ticket.failed_tokens:
            tokens = Tokens(tokens.total + ticket.failed_tokens, tokens.prompt, tokens.completion, tokens.cached)
        await self._settle(ticket.admission, used, tokens, estimated=estimated)

    async def _finish_late(self, ticket: Ticket, used: Used) -> None:
        """Usage of an attempt that becomes known when the request has been settled: a call of its own."""
        await self._count(replace(ticket.admission.request, request_id=uuid4().hex), used)

    async def _count_unadmitted(self, kwargs: Mapping[str, Any], used: Used) -> None:
        """A call that never came past admission (a route without hooks, LiteLLM's own): counted all the same."""
        await self._count(self._request_of(kwargs), used)

    async def _count(self, request: Request, used: Used) -> None:
        admission = self.guard.unadmitted(request)
        tokens, estimated = _tokens_of(admission, used)
        await self._settle(admission, used, tokens, estimated=estimated)

    async def _settle(self, admission: Admission, used: Used, tokens: Tokens, *, estimated: bool) -> None:
        bill = Bill(
            tokens=tokens,
            status=used.status,
            cache_hit=used.cache_hit,
            estimated=estimated,
            department=used.department,
            knowledge_base=used.knowledge_base,
        )
        await self._till.settle(admission, bill)

    def _request_of(self, kwargs: Mapping[str, Any]) -> Request:
        payload = mapping_of(kwargs.get("standard_logging_object"))
        metadata = mapping_of(payload.get("metadata"))
        field: Callable[[str], Any] = lambda name: metadata.get(f"user_api_key_{name}")  # noqa: E731
        model = text_of(payload.get("model_group"), payload.get("model"), kwargs.get("model")) or "unknown"
        return Request(
            request_id=uuid4().hex,
            model=self.guard.gate.canonical(model),
            tenant=tenant_of(field),
            user=text_of(field("user_id"), field("end_user_id"), payload.get("end_user")),
            key_hash=text_of(field("hash"))[:8] or "none",
        )

    def _broken(self, request: Request) -> Admission:
        allowed = self.guard.gate.failure.model is Falls.OPEN
        return Admission(
            request=request,
            allowed=allowed,
            action=Do.PROCEED if allowed else Do.REJECT,
            layer=Layer.REQUEST,
            rule=BROKEN,
            reason="the gate failed to check this call",
            retry_after=1.0,
            local=True,
        )


def _tokens_of(admission: Admission, used: Used) -> tuple[Tokens, bool]:
    """What is counted, and whether it is an estimate: numbers that cannot be believed count as what was reserved."""
    if used.tokens is None:
        return Tokens(admission.request.tokens), True
    return used.tokens, used.estimated
