"""What the application sees of the gate: what to do with this request, and where to say what it used."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from blastdoor_gateway.admission import Admission, Do
from blastdoor_gateway.cache.question import Audience, Question
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.money import NO_TOKENS, Tokens
from blastdoor_gateway.till import Bill, Till

Scope = MutableMapping[str, Any]
KEY = "blastdoor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request as the middleware hands it to the application's `describe`. Header names are lower case."""

    path: str
    method: str
    headers: Mapping[str, str]
    address: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a request is about, as the application knows it: never trust the client to say who it is.

    `question` with `audience`: the answer cache may answer it. `estimate`: tokens, else reckoned from the body.
    """

    model: str
    tenant: str
    user: str = ""
    question: str | None = None
    audience: Audience | None = None
    estimate: int | None = None
    most_answer: int | None = None
    department: str = ""
    knowledge_base: str = ""


class Door:
    """One request's way through the gate."""

    def __init__(self, guard: Guard, till: Till, ask: Ask, admission: Admission, question: Question | None) -> None:
        self._guard = guard
        self._till = till
        self._ask = ask
        self._question = question
        self.admission = admission
        self.settled = False

    @property
    def degraded(self) -> bool:
        """Do not call the model: answer from the static path."""
        return self.admission.action is Do.DEGRADE

    @property
    def answer(self) -> str | None:
        """From the cache: give this, and do not call the model."""
        return self.admission.answer

    async def settle(self, tokens: Tokens | int, *, status: str = "success", estimated: bool = False) -> None:
        """What the call used. The first word counts."""
        if not self.settled:
            self.settled = True
            used = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
            await self._till.settle(self.admission, self._bill(used, status=status, estimated=estimated))

    async def remember(self, answer: str) -> None:
        """Keep a whole, good answer for those who ask the same within some minutes."""
        if self._question is not None and self.answer is None and not self.degraded:
            await self._guard.remember(self._question, answer)

    async def close(self, *, failed: bool) -> None:
        """The response is over. What was not settled counts as reserved, a failure as nothing."""
        if self.settled or not self.admission.allowed:
            return
        if self.answer is not None:
            self.settled = True
            await self._till.settle(self.admission, self._bill(NO_TOKENS, cache_hit=True))
        elif failed:
            await self.settle(0, status="failure")
        else:
            await self.settle(self.admission.request.tokens, estimated=True)

    def _bill(self, tokens: Tokens, **more: Any) -> Bill:
        ask = self._ask
        return Bill(tokens=tokens, department=ask.department, knowledge_base=ask.knowledge_base, **more)


def door_of(scope: Scope) -> Door | None:
    """The door of a request, None where the path is not guarded."""
    found: Door | None = scope.get("state", {}).get(KEY)
    return found
