"""The gate for asyncio: admit before the call, settle after it.

guard = Guard.connect("redis://127.0.0.1:6379/0", Gate())
admission = await guard.admit(model="deepseek-v4-flash", tenant="acme", prompt_characters=2_400)
if admission.allowed:
    ...
    await guard.settle(admission, 1_500)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from secrets import token_hex
from types import TracebackType
from typing import Self, TypeVar

from redis.asyncio import Redis

from blastdoor_gateway.admission import Admission, Outage, Request, Settlement, Standing
from blastdoor_gateway.cache.question import Audience, Question, Questions
from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.config import Gate
from blastdoor_gateway.core import Core, Steps
from blastdoor_gateway.estimate import estimate_of
from blastdoor_gateway.link import Link, open_redis
from blastdoor_gateway.money import Tokens
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.patience import Patience
from blastdoor_gateway.self_test import Checked, require

T = TypeVar("T")


class Guard:
    """Safe to share between tasks of one event loop. Nothing it does raises because of Redis."""

    def __init__(
        self,
        redis: Redis,
        gate: Gate | None = None,
        *,
        clock: Callable[[], Millis] | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.gate = gate or Gate()
        self.core = Core(self.gate, clock, observer or Observer())
        self._link = Link(redis, self.gate.wait_seconds, Patience(self.core.observer))
        self._asked = Questions()
        self._sender: asyncio.Task[None] | None = None

    @classmethod
    def connect(cls, url: str, gate: Gate | None = None, *, observer: Observer | None = None) -> Self:
        """A guard with a client of its own, made the way a request's path needs it."""
        gate = gate or Gate()
        return cls(open_redis(url, gate.wait_seconds), gate, observer=observer)

    async def self_test(self) -> tuple[Checked, ...]:
        """Try every configured layer, before the first call. Raises SelfTestError for one that holds nothing."""
        return require(await self._run(self.core.self_test()))

    async def admit(
        self,
        *,
        model: str,
        tenant: str = "",
        user: str = "",
        ip: str = "",
        estimate: int | None = None,
        prompt_characters: int = 0,
        most_answer: int | None = None,
        request_id: str | None = None,
        key_hash: str = "none",
    ) -> Admission:
        """May this call go on? Tokens to reserve are `estimate`, else reckoned from the prompt's length.

        `request_id` must be the caller's own and new for every call: one that a client chose could be used twice.
        Asking again with the same one while the call is under way reserves nothing more.
        """
        request = request_of(
            self.gate, model, tenant, user, ip, estimate, prompt_characters, most_answer, request_id, key_hash
        )
        return await self.admit_request(request)

    async def admit_request(self, request: Request) -> Admission:
        """The same with everything in one value."""
        return await self._run(self.core.admit(request, self._retry_in))

    async def settle(self, admission: Admission, actual_tokens: Tokens | int, *, status: str = "success") -> Settlement:
        """Count what the call used, whatever the limits say. May come late and may be repeated.

        If Redis cannot be asked it is kept and sent again until Redis takes it.
        """
        settlement = await self._run(self.core.settle(admission, actual_tokens, status))
        self._send_kept()
        return settlement

    async def cancel(self, admission: Admission) -> Settlement:
        """The call did not take place: give back what it had reserved."""
        return await self.settle(admission, 0, status="cancelled")

    async def standing(self, tenant: str) -> Standing | Outage:
        """How a tenant stands in the gate's own budgets."""
        return await self._run(self.core.standing(tenant))

    async def top_up(self, tenant: str, window: str, tokens: int, *, grant_id: str) -> int | Outage:
        """Grant a tenant more in this `day` or `month` (or take back, below zero). The same id grants once."""
        return await self._run(self.core.top_up(tenant, window, tokens, grant_id))

    def question(self, text: str, audience: Audience) -> Question:
        """A question for the answer cache: give its digests to `admit_request`, and the answer to `remember`."""
        return self._asked.ask(text, audience)

    async def remember(self, question: Question, answer: str) -> bool:
        """Keep a whole, good answer for some minutes. Only digests and the answer go to Redis, never the question."""
        kept = await self._run(self.core.remember(question.digests, answer))
        if kept:
            self._asked.answered(question)
        return kept

    def unadmitted(self, request: Request) -> Admission:
        """An admission for a call that was made without one: to settle it counts what it used."""
        return self.core.unadmitted(request)

    async def close(self, within: float = 2.0) -> None:
        """Send what was kept, as far as Redis takes it within some seconds, and close the connections."""
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=within)
            self._sender.cancel()
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        try:
            call = next(steps)
            while True:
                call = steps.send(await self._link.ask(call))
        except StopIteration as end:
            result: T = end.value
            return result

    def _retry_in(self) -> float:
        return self._link.patience.wait(time.monotonic())

    def _send_kept(self) -> None:
        """One task sends what was kept, for as long as something is."""
        if len(self.core.backlog) and (self._sender is None or self._sender.done()):
            self._sender = asyncio.get_running_loop().create_task(self._resend())

    async def _resend(self) -> None:
        while len(self.core.backlog):
            if not await self._run(self.core.resend()):
                await asyncio.sleep(max(0.05, self._retry_in()))


def request_of(
    gate: Gate,
    model: str,
    tenant: str,
    user: str,
    ip: str,
    estimate: int | None,
    prompt_characters: int,
    most_answer: int | None,
    request_id: str | None,
    key_hash: str,
) -> Request:
    """A request with its model's canonical name and the tokens to reserve for it."""
    told = estimate_of(prompt_characters, most_answer, gate.most_estimate) if estimate is None else estimate
    return Request(
        request_id=request_id or token_hex(16),
        model=gate.canonical(model),
        tenant=tenant,
        user=user,
        address=ip,
        tokens=max(1, min(told, gate.most_estimate)),
        key_hash=key_hash or "none",
    )
