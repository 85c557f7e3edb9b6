"""A provider that streams at a pace the test sets, dies in mid-stream, or refuses. Speaks OpenAI's protocol."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from aiohttp import web

PROMPT, WORDS = 40, 20


class Upstream:
    """`gate`: chunks after the third wait until it is set. `asked`: calls that arrived."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """The base URL."""
        application = web.Application()
        application.router.add_post("/v1/chat/completions", self._complete)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return f"http://127.0.0.1:{port}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        body = await request.json()
        if body["model"] == "refuses":
            return web.json_response({"error": {"message": "no", "type": "x", "code": "x"}}, status=500)
        if not body.get("stream"):
            return web.json_response(_whole(body["model"]))
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for place in range(WORDS):
            if place == 3:
                await self.gate.wait()
            if place == 5 and body["model"] == "dies":
                assert request.transport is not None
                request.transport.abort()
                return answer
            await answer.write(_line(body["model"], {"content": "word "}))
        await answer.write(_line(body["model"], {}, finish="stop"))
        await answer.write(_line(body["model"], None, usage=_usage()))
        await answer.write(b"data: [DONE]\n\n")
        return answer


def _usage() -> dict[str, Any]:
    cached = {"cached_tokens": 10}
    total = PROMPT + WORDS
    return {"prompt_tokens": PROMPT, "completion_tokens": WORDS, "total_tokens": total, "prompt_tokens_details": cached}


def _whole(model: str) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * WORDS}}
    return {
        "id": "same-for-all",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [choice],
        "usage": _usage(),
    }


def _line(model: str, delta: dict[str, Any] | None, finish: str | None = None, usage: Any = None) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    chunk = {"id": "same-for-all", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices}
    return b"data: " + json.dumps(chunk | ({"usage": usage} if usage else {})).encode() + b"\n\n"
