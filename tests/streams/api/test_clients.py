"""Other people's client code sends to the intake, and the totals are right."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from streams.embedded.server import free_port
from tests.parts import LITELLM
from tests.streams.api.conftest import GATEWAY, Api, MemorySink

# A prompt of which nearly all was cached.
TOKENS = {
    "prompt_tokens": 2006,
    "completion_tokens": 300,
    "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920},
}


def sent(sink: MemorySink) -> list[dict[str, Any]]:
    """The events on the usage topic, and nothing else anywhere."""
    assert {parcel.topic for parcel in sink.parcels} <= {"bd.usage"}
    return [json.loads(parcel.value) for parcel in sink.parcels]


async def test_openmeters_client(api: Api, sink: MemorySink) -> None:
    """One event, a batch of two, and a repeat: two customers, and ids that recognise the repeat."""
    aio = pytest.importorskip("openmeter.aio")
    models = pytest.importorskip("openmeter.models")

    def event(name: str, subject: str, tokens: int) -> Any:
        data = {"tokens": str(tokens), "model": "flash", "type": "input"}
        return models.Event(id=name, source="app", specversion="1.0", type="prompt", subject=subject, data=data,
                            time="2026-08-13T00:00:00Z")  # fmt: skip

    async with aio.Client(endpoint=api.url, token=GATEWAY) as client:
        await client.events.ingest_event(event("1", "acme", 10))
        await client.events.ingest_events([event("2", "acme", 20), event("3", "other", 5)])
        await client.events.ingest_event(event("1", "acme", 10))
    found = sent(sink)
    assert len(found) == 4
    total = {each["id"]: (each["tenant"], each["total_tokens"]) for each in found}
    assert total == {"app/1": ("acme", 10), "app/2": ("acme", 20), "app/3": ("other", 5)}


async def test_openmeters_client_with_a_wrong_token(api: Api) -> None:
    """It is told so in a way it understands."""
    aio = pytest.importorskip("openmeter.aio")
    errors = pytest.importorskip("corehttp.exceptions")
    async with aio.Client(endpoint=api.url, token="wrong") as client:
        with pytest.raises(errors.ClientAuthenticationError):
            await client.events.ingest_event({"id": "1"})


@pytest.fixture
async def provider() -> AsyncIterator[str]:
    """An OpenAI-compatible provider that answers everything, streamed if it is asked to."""

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        head = {"id": "not-unique", "created": 1786590480, "model": "flash"}
        if not asked.get("stream"):
            message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}
            return web.json_response(head | {"object": "chat.completion", "choices": [message], "usage": TOKENS})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        piece = {"index": 0, "delta": {"role": "assistant", "content": "ok"}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        head |= {"object": "chat.completion.chunk"}
        for chunk in ({"choices": [piece]}, {"choices": [end]}, {"choices": [], "usage": TOKENS}):
            await response.write(f"data: {json.dumps(head | chunk)}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    yield f"http://127.0.0.1:{port}/v1"
    await runner.cleanup()


@pytest.mark.litellm
async def test_litellms_sinks(api: Api, sink: MemorySink, provider: str) -> None:
    """Arrays, lines and single objects; streamed and not: each call once, with its cached tokens."""
    script = Path(__file__).with_name("litellm_calls.py")
    environment = os.environ | {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENMETER_API_ENDPOINT": api.url, "OPENMETER_API_KEY": GATEWAY,
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        str(LITELLM.with_name("python")), str(script), provider, api.url, GATEWAY, env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-2000:]
    found = sent(sink)
    calls = {each["id"]: each for each in found if each["source"] == "litellm"}
    (metered,) = (each for each in found if each["source"] == "litellm-proxy")
    assert len(calls) >= 6, said.decode()[-2000:]
    parts = {(each["prompt_tokens"], each["cached_tokens"], each["total_tokens"]) for each in calls.values()}
    assert parts == {(2006, 1920, 2306)}
    assert (metered["tenant"], metered["total_tokens"], metered["model"]) == ("customer-1", 2306, "flash")
