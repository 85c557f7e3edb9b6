"""A call's admission, carried from the hook before the call to the hooks after it.

It travels in a context variable: every task that works on the request has it, the one that logs included, and nothing
of it gets into what is sent to the provider. Calls that LiteLLM makes on its own account within a request have ids of
their own and no ticket.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from blastdoor_gateway.admission import Admission

_current: ContextVar[Ticket | None] = ContextVar("blastdoor_ticket", default=None)


@dataclass(slots=True)
class Ticket:
    """One request. Retries and fallbacks within it share its call id."""

    call_id: str
    admission: Admission
    finished: bool = False  # settled, and its event is on the way
    failed_tokens: int = 0  # used by attempts that failed

    def keep(self) -> None:
        """This task and those it starts have the ticket."""
        _current.set(self)


def ticket_for(call: Mapping[str, Any]) -> Ticket | None:
    """The ticket of a call, None for one that was never let in."""
    ticket, call_id = _current.get(), call.get("litellm_call_id")
    if ticket is None or not isinstance(call_id, str):
        return ticket
    return ticket if ticket.call_id in {"", call_id} else None
