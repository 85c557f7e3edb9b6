"""A RAG service behind the gate, without a framework: `uvicorn examples.rag_app:app` in this directory's parent.

    curl -H 'x-user: u1' -d '{"question": "how many days of leave do I have"}' http://127.0.0.1:8000/ask

Who is calling is taken from a header here; a real service takes it from its own authentication.
"""

from __future__ import annotations

import json
import os
from typing import Any

from blastdoor_gateway.asgi import Ask, BlastDoor, Incoming, door_of
from blastdoor_gateway.cache.question import Audience
from blastdoor_gateway.config import Budget, Gate, Rate
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.money import Tokens

MODEL = "deepseek-v4-flash"
STATIC = {"leave": "Leave is in chapter 4 of the handbook.", "travel": "Travel is in chapter 7 of the handbook."}


def describe(request: Incoming) -> Ask | None:
    """What a request is about. Paths that call no model are not guarded."""
    if request.path != "/ask":
        return None
    question = str(json.loads(request.body)["question"])
    audience = Audience(tenant="acme", knowledge_base="handbook@3", model=MODEL)
    user = request.headers.get("x-user", "anonymous")
    return Ask(model=MODEL, tenant="acme", user=user, question=question, audience=audience, knowledge_base="handbook")


async def rag(scope: Any, receive: Any, send: Any) -> None:
    """The service itself: cached answer, static path, or the model."""
    door = door_of(scope)
    if door is None:
        await respond(send, {"status": "up"})
        return
    question = json.loads((await receive())["body"])["question"]
    if door.answer is not None:
        await respond(send, {"answer": door.answer, "from": "cache"})
    elif door.degraded:
        await respond(send, {"answer": look_up(question), "from": "static", "because": door.admission.reason})
    else:
        answer, used = await call_model(question)
        await door.settle(used)
        await door.remember(answer)
        await respond(send, {"answer": answer, "from": "model"})


def look_up(question: str) -> str:
    """The static path: by keyword, without a model."""
    return next((text for word, text in STATIC.items() if word in question.lower()), "Please see the handbook.")


async def call_model(question: str) -> tuple[str, Tokens]:
    """Stands for the call to the provider, which answers with what it used."""
    return f"About {question!r}: see the handbook.", Tokens(150, prompt=120, completion=30)


async def respond(send: Any, content: dict[str, str]) -> None:
    headers = [(b"content-type", b"application/json; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content, ensure_ascii=False).encode()})


def build(redis: str) -> BlastDoor:
    """The service with the gate in front: ten questions a minute for each user, half a million tokens a day."""
    gate = Gate(per_user=Rate(10), default=Budget(daily_tokens=500_000), engine=None)
    return BlastDoor(rag, Guard.connect(redis, gate), describe)


app = build(os.environ.get("BLASTDOOR_REDIS", "redis://127.0.0.1:6379/0"))
