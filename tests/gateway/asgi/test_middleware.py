"""The middleware with the example service behind it, driven as an ASGI server drives it."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from blastdoor_gateway.admission import Standing
from blastdoor_gateway.asgi import Ask, BlastDoor, Incoming, door_of
from blastdoor_gateway.config import Budget, Over, Rate
from blastdoor_gateway.events.outbox import Batch, Outbox
from blastdoor_gateway.guard import Guard

EXAMPLE = Path(__file__).parents[3] / "gateway" / "examples" / "rag_app.py"
Make = Callable[..., Guard]


class Got(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    content: dict[str, Any]


class Shelf:
    """A carrier that keeps."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def deliver(self, batch: Batch) -> None:
        self.events += [json.loads(value) for _, value in batch]

    async def close(self) -> None:
        """Nothing to let go of."""


def example() -> Any:
    spec = importlib.util.spec_from_file_location("rag_app", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def call(app: Any, question: str = "", path: str = "/ask", *, chunks: int = 1, **headers: str) -> Got:
    body = json.dumps({"question": question}).encode() if question else b""
    size = -(-len(body) // chunks) or 1
    parts = [body[place : place + size] for place in range(0, len(body), size)] or [b""]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        part = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": told, "client": ("203.0.113.9", 1)}
    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], names, json.loads(content or b"{}"))


async def used(guard: Guard) -> tuple[int, int]:
    standing = await guard.standing("acme")
    assert isinstance(standing, Standing)
    return standing.day.used, standing.day.held


async def test_the_way_of_a_question(url: str, guard_on: Make) -> None:
    """The model answers, the same question again is answered from the cache, a spent budget from the static path."""
    module, shelf = example(), Shelf()
    guard = guard_on(url, default=Budget(daily_tokens=700))
    outbox = Outbox(shelf)
    app = BlastDoor(module.rag, guard, module.describe, outbox=outbox)
    assert (await call(app, "how many days of leave do I have", chunks=3)).content["from"] == "model"
    assert await used(guard) == (150, 0)
    cached = await call(app, "How many days of leave do I have?")
    assert cached.content["from"] == "cache"
    assert await used(guard) == (150, 0)
    static = await call(app, "what about travel " + "x" * 200)
    assert (static.status, static.content["from"]) == (200, "static")
    assert static.content["answer"] == "Travel is in chapter 7 of the handbook."
    await outbox.close()
    told = [(event["total_tokens"], event["cache_hit"], event["knowledge_base"]) for event in shelf.events]
    assert told == [(150, False, "handbook"), (0, True, "handbook")]


async def test_a_refusal_never_reaches_the_service(url: str, guard_on: Make) -> None:
    """The eleventh question of a user in a minute is answered 429 with the rule and when to come back."""
    module = example()
    app = BlastDoor(module.rag, guard_on(url, per_user=Rate(1)), module.describe)
    assert (await call(app, "first question of the day", x_user="u")).status == 200
    refused = await call(app, "second question of the day", x_user="u")
    assert (refused.status, refused.content["rule"], refused.headers["retry-after"]) == (429, "per-user", "60")


async def test_unguarded_paths_pass(url: str, guard_on: Make) -> None:
    """A path that calls no model meets no gate, and other protocols pass untouched."""
    module = example()
    app = BlastDoor(module.rag, guard_on(url, default=Budget(daily_tokens=0)), module.describe)
    assert (await call(app, path="/health")).content == {"status": "up"}


async def test_other_protocols_pass(url: str, guard_on: Make) -> None:
    """Websockets go to the service as they are."""
    seen: list[str] = []

    async def service(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    await BlastDoor(service, guard_on(url), lambda _: None)({"type": "websocket"}, None, None)  # type: ignore[arg-type]
    assert seen == ["websocket"]


@pytest.mark.parametrize(
    ("status", "expected"), [(200, (505, 0)), (404, (505, 0)), (500, (0, 0))], ids=["forgotten", "client", "failed"]
)
async def test_a_service_that_settles_nothing(url: str, guard_on: Make, status: int, expected: tuple[int, int]) -> None:
    """A response without settlement counts as reserved; one that failed counts nothing; nothing stays held."""
    guard = guard_on(url)
    app = BlastDoor(_answering(status), guard, _describe)
    await call(app, "x")
    assert await used(guard) == expected


async def test_a_service_that_breaks(url: str, guard_on: Make) -> None:
    """Its exception is its own; what was reserved is given back."""
    guard = guard_on(url)

    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await call(BlastDoor(breaks, guard, _describe), "x")
    assert await used(guard) == (0, 0)


async def test_the_first_settlement_counts(url: str, guard_on: Make) -> None:
    """Settled by the service and once more by mistake: once."""
    guard = guard_on(url)

    async def twice(scope: Any, receive: Any, send: Any) -> None:
        door = door_of(scope)
        assert door is not None
        await door.settle(7)
        await door.settle(9)
        await _answering(200)(scope, receive, send)

    await call(BlastDoor(twice, guard, _describe), "x")
    assert await used(guard) == (7, 0)


async def test_a_body_too_long_is_not_read(url: str, guard_on: Make) -> None:
    """413, before anything is asked."""
    app = BlastDoor(_answering(200), guard_on(url), _describe, most_body=100)
    assert (await call(app, "x" * 200)).status == 413


async def test_the_start_tries_every_layer(url: str, guard_on: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application hears of the start; if a configured layer holds nothing it does not, and the server ends."""
    guard = guard_on(url, per_user=Rate(10))
    assert await _start(BlastDoor(_starting, guard, _describe)) == ["lifespan.startup.complete"]
    monkeypatch.setattr("blastdoor_gateway.admit_call._pace", lambda *_: (1, 10**6))
    assert await _start(BlastDoor(_starting, guard, _describe)) == ["lifespan.startup.failed"]


async def _starting(scope: Any, receive: Any, send: Any) -> None:
    """An application that starts."""
    assert scope["type"] == "lifespan"
    assert (await receive())["type"] == "lifespan.startup"
    await send({"type": "lifespan.startup.complete"})


async def _start(app: Any) -> list[str]:
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    return sent


async def test_block_instead_of_degrade(url: str, guard_on: Make) -> None:
    """Where the budget says block, a spent one refuses."""
    module = example()
    guard = guard_on(url, default=Budget(daily_tokens=1, over=Over.BLOCK))
    refused = await call(BlastDoor(module.rag, guard, module.describe), "what about travel")
    assert (refused.status, refused.content["layer"]) == (429, "budget")


def _describe(_: Incoming) -> Ask:
    return Ask(model="m", tenant="acme", estimate=505)


def _answering(status: int) -> Callable[..., Awaitable[None]]:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    return answer
