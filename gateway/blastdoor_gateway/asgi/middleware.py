"""The middleware. It asks the gate once a request and answers a refusal itself; everything else is the application's.

When the server starts (`lifespan`), every configured layer is tried once: see `self_test.py`.

Which way it falls: a `describe` that raises is the application's mistake and raises there; a body longer than
`most_body` is answered 413 before anything is asked; what the gate does without Redis stands in `config.Failure`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from blastdoor_gateway.address import client_address, networks
from blastdoor_gateway.admission import Admission, Request
from blastdoor_gateway.asgi.door import KEY, Ask, Door, Incoming, Scope
from blastdoor_gateway.estimate import estimate_of
from blastdoor_gateway.events.outbox import Outbox
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.self_test import SelfTestError, report
from blastdoor_gateway.till import Till

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Describe = Callable[[Incoming], Ask | None]


class BlastDoor:
    """`describe` says what a request is about, None for one that calls no model. It gets the whole body."""

    def __init__(
        self,
        app: App,
        guard: Guard,
        describe: Describe,
        *,
        outbox: Outbox | None = None,
        source: str = "rag",
        most_body: int = 1_000_000,
    ) -> None:
        self._app = app
        self._guard = guard
        self._describe = describe
        self._till = Till(guard, outbox, source)
        self._proxies = networks(guard.gate.proxies)
        self._most_body = most_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _whole_body(receive, self._most_body)
        if body is None:
            await _respond(send, 413, {"error": "the request is too long"}, {})
            return
        incoming = self._incoming(scope, body)
        ask = self._describe(incoming)
        if ask is None:
            await self._app(scope, _replay(body, receive), send)
        else:
            await self._guarded(ask, incoming, scope, _replay(body, receive), send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The server starts: a limit that holds nothing is found out now, and then the service does not start."""
        first = await receive()
        try:
            report(await self._guard.self_test())
        except SelfTestError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await self._app(scope, _before(first, receive), send)

    async def _guarded(self, ask: Ask, incoming: Incoming, scope: Scope, receive: Receive, send: Send) -> None:
        door = await self._open(ask, incoming)
        if not door.admission.allowed and not door.degraded:
            await _refuse(send, door.admission)
            return
        scope.setdefault("state", {})[KEY] = door
        seen = _Status(send)
        failed = True
        try:
            await self._app(scope, receive, seen)
            failed = seen.status >= 500
        finally:
            await door.close(failed=failed)

    async def _open(self, ask: Ask, incoming: Incoming) -> Door:
        question = None
        if ask.question is not None and ask.audience is not None:
            question = self._guard.question(ask.question, ask.audience)
        gate = self._guard.gate
        told = ask.estimate
        if told is None:
            told = estimate_of(len(incoming.body), ask.most_answer, gate.most_estimate)
        request = Request(
            request_id=uuid4().hex,
            model=gate.canonical(ask.model),
            tenant=ask.tenant,
            user=ask.user,
            address=incoming.address,
            tokens=max(1, min(told, gate.most_estimate)),
            answers=() if question is None else question.digests,
        )
        return Door(self._guard, self._till, ask, await self._guard.admit_request(request), question)

    def _incoming(self, scope: Scope, body: bytes) -> Incoming:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        peer = (scope.get("client") or ("", 0))[0]
        return Incoming(
            path=scope["path"],
            method=scope["method"],
            headers=headers,
            address=client_address(peer, headers.get("x-forwarded-for", ""), self._proxies),
            body=body,
        )


class _Status:
    """Passes messages on and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 500

    async def __call__(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


async def _whole_body(receive: Receive, most: int) -> bytes | None:
    """None if it is longer than `most`."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        more = message.get("more_body", False)
        if size > most:
            return None
    return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever comes."""
    return _before({"type": "http.request", "body": body, "more_body": False}, receive)


def _before(message: dict[str, Any], receive: Receive) -> Receive:
    """A message once more, then whatever comes."""
    told = False

    async def again() -> dict[str, Any]:
        nonlocal told
        if told:
            return await receive()
        told = True
        return message

    return again


async def _refuse(send: Send, admission: Admission) -> None:
    wait = admission.retry_after
    headers = {} if wait is None else {"retry-after": str(max(1, math.ceil(wait)))}
    layer = None if admission.layer is None else admission.layer.value
    await _respond(send, 429, {"error": admission.reason, "rule": admission.rule, "layer": layer}, headers)


async def _respond(send: Send, status: int, content: dict[str, Any], headers: dict[str, str]) -> None:
    body = json.dumps(content, ensure_ascii=False).encode()
    told = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    pairs = [(name.encode(), value.encode()) for name, value in told.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
