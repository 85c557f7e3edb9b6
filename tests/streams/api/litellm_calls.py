"""Run by the LiteLLM in its own venv: calls a provider, streamed and not, and lets its sinks report to the intake.

litellm_calls.py PROVIDER_URL INTAKE_URL TOKEN
"""

from __future__ import annotations

import asyncio
import sys

import litellm
from litellm.integrations.generic_api.generic_api_callback import GenericAPILogger
from litellm.integrations.openmeter import OpenMeterLogger

FORMATS = ("json_array", "ndjson", "single")


async def call(base: str, stream: bool, user: str) -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = await litellm.acompletion(
        model="openai/flash",
        api_base=base,
        api_key="none",
        messages=[{"role": "user", "content": "hello"}],
        user=user,
        **options,
    )
    if stream:
        async for _ in answer:
            pass


async def main(base: str, intake: str, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    for log_format in FORMATS:
        sink = GenericAPILogger(endpoint=f"{intake}/v1/events", headers=headers, log_format=log_format)
        litellm.callbacks = [sink]
        for stream in (False, True):
            await call(base, stream, "u")
        for _ in range(200):
            if len(sink.log_queue) == 2:
                break
            await asyncio.sleep(0.05)
        await sink.async_send_batch()
    litellm.callbacks = [OpenMeterLogger()]
    await call(base, False, "customer-1")
    await asyncio.sleep(1)  # its sink gives no sign of being done


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
