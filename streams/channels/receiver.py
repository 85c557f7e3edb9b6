"""A receiver on this machine: strictly a Feishu custom bot and a Standard Webhooks endpoint, or as unfair as told.

`blastdoor demo` shows what it received; tests make it throttle, hang, close and lie.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_bytes, token_urlsafe
from typing import Any, Self

from aiohttp import web
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from rules.moment import Millis
from rules.policy import Channel
from streams.channels.bot import judge, texts
from streams.channels.feishu import MALFORMED
from streams.channels.timing import Timing

FEISHU, WEBHOOK = "feishu", "webhook"
LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Misbehaviour:
    """What the next request meets instead of a fair answer. `accepts`: the alert arrives all the same."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    closes: bool = False
    accepts: bool = False


def _said(code: int, msg: str) -> bytes:
    return json.dumps({"code": code, "data": {}, "msg": msg}).encode()


THROTTLED = Misbehaviour(body=_said(11232, "frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]"))
TOO_MANY = Misbehaviour(status=400, body=_said(MALFORMED, "too many request"))
TOO_MANY_200 = Misbehaviour(body=_said(MALFORMED, "too many request"))
HANGS = Misbehaviour(hangs=True)
CLOSES = Misbehaviour(closes=True)
GARBAGE = Misbehaviour(body=b"<html>504 gateway \xff\xfe</html>")
GONE = Misbehaviour(status=410)
ANSWER_LOST = Misbehaviour(closes=True, accepts=True)


def busy(seconds: float) -> Misbehaviour:
    """HTTP 429 that asks to wait."""
    return Misbehaviour(status=429, headers={"Retry-After": f"{seconds:g}"})


@dataclass(frozen=True, slots=True)
class Arrival:
    """One accepted message. `ids` are the alerts': the `webhook-id`, or what the foot of a card names."""

    channel: str
    at: Millis
    ids: tuple[str, ...]
    body: dict[str, Any]

    @property
    def id(self) -> str:
        """Of a message about one alert."""
        return self.ids[-1]

    def texts(self) -> list[str]:
        """What a person reads of a card, top to bottom."""
        return list(texts(self.body))


class Receiver:
    """Records what arrived. Knows its own fresh secrets; `channel()` hands them to a policy."""

    def __init__(
        self, *, keyword: str = "", timing: Timing | None = None, heard: Callable[[Arrival], None] | None = None
    ) -> None:
        """`keyword`: what the bot demands in a text. `heard` is told of every arrival."""
        self.arrivals: list[Arrival] = []
        self.requests: list[tuple[str, Millis]] = []  # every attempt, also those refused
        self._keyword = keyword
        self._timing = timing or Timing()
        self._heard = heard
        self._token, self._secret = token_urlsafe(18), token_urlsafe(18)
        self._webhook_secret = f"whsec_{base64.b64encode(token_bytes(24)).decode()}"
        self._plans: dict[str, deque[Misbehaviour]] = {FEISHU: deque(), WEBHOOK: deque()}
        self._arrived = asyncio.Condition()
        self._stopped = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._base = ""

    def channel(self, kind: str, name: str = "", schema: str = "2.0") -> Channel:
        """A channel of the policy that leads here."""
        path, secret = (f"open-apis/bot/v2/hook/{self._token}", self._secret)
        if kind == WEBHOOK:
            path, secret = f"hooks/{self._token}", self._webhook_secret
        return Channel(name=name or kind, kind=kind, url=f"{self._base}/{path}", secret=secret, schema=schema)

    def plan(self, kind: str, *misbehaviours: Misbehaviour) -> None:
        """What the next requests of a channel meet, in this order; after that all is well again."""
        self._plans[kind].extend(misbehaviours)

    def forgive(self, kind: str) -> None:
        """Drop what is still planned for a channel."""
        self._plans[kind].clear()

    async def arrived(self, number: int) -> list[Arrival]:
        """The arrivals, once there are at least `number`."""
        return await self.until(lambda: len(self.arrivals) >= number)

    async def until(self, reached: Callable[[], bool]) -> list[Arrival]:
        """The arrivals, once `reached`, which is asked after each."""
        async with self._arrived:
            await self._arrived.wait_for(reached)
        return self.arrivals

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=LARGEST)
        application.router.add_post("/open-apis/bot/v2/hook/{token}", self._feishu)
        application.router.add_post("/hooks/{token}", self._webhook)
        # No access log: paths hold the token.
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.5)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self._base = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopped.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _feishu(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(FEISHU, request)
        code, said = judge(body, self._secret, self._keyword, self._timing.now())
        if request.match_info["token"] != self._token:
            code, said = 19001, "param invalid: incoming webhook access token invalid"
        plan = self._next(FEISHU)
        if code == 0 and (plan is None or plan.accepts):
            found = json.loads(body)
            await self._accept(Arrival(FEISHU, self._timing.now(), _named(found), found))
        if plan is not None:
            return await self._misbehave(request, plan)
        return web.json_response({"code": code, "msg": said, "data": {}}, status=400 if code == MALFORMED else 200)

    async def _webhook(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(WEBHOOK, request)
        good = request.match_info["token"] == self._token and self._verified(body, dict(request.headers))
        plan = self._next(WEBHOOK)
        if good and (plan is None or plan.accepts):
            await self._accept(Arrival(WEBHOOK, self._timing.now(), (request.headers["webhook-id"],), json.loads(body)))
        if plan is not None:
            return await self._misbehave(request, plan)
        return web.Response(status=204 if good else 401)

    async def _read(self, kind: str, request: web.Request) -> bytes:
        self.requests.append((kind, self._timing.now()))
        return await request.read()

    def _verified(self, body: bytes, headers: dict[str, str]) -> bool:
        try:
            Verifier(self._webhook_secret).verify(body, headers)
        except (WebhookVerificationError, ValueError):
            return False
        return True

    def _next(self, kind: str) -> Misbehaviour | None:
        return self._plans[kind].popleft() if self._plans[kind] else None

    async def _accept(self, arrival: Arrival) -> None:
        async with self._arrived:
            self.arrivals.append(arrival)
            self._arrived.notify_all()
        if self._heard is not None:
            self._heard(arrival)

    async def _misbehave(self, request: web.Request, plan: Misbehaviour) -> web.StreamResponse:
        if plan.hangs:
            await self._stopped.wait()
        if plan.closes and request.transport is not None:
            request.transport.abort()
        return web.Response(status=plan.status, body=plan.body, headers=plan.headers)


def _named(found: dict[str, Any]) -> tuple[str, ...]:
    """The ids in the foot of a card: after two words and what they are called, with commas between."""
    foot = (list(texts(found)) or [""])[-1]
    first, *others = foot.split(", ")
    return (first.rpartition(" ")[2], *others)
