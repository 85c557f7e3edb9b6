"""Sees decision keys of probes change in Redis, and tells when each probe was first counted.

python -m bench.watcher REDIS PREFIX FIRST_PROBE PROBES FILE
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis

from bench.probes import MODELS, model_of, used_after


async def main(url: str, prefix: str, first: int, probes: int, file: str) -> None:
    seen: dict[int, float] = {}
    waiting = {model_of(number): first + number for number in range(MODELS)}
    redis = Redis.from_url(url, decode_responses=True)
    await redis.config_set("notify-keyspace-events", "Kh")
    names = {Keys(prefix).decision(f"model:{model}"): model for model in waiting}
    async with redis.pubsub() as changes:
        await changes.subscribe(*(f"__keyspace@0__:{name}" for name in names))
        print("watching", flush=True)
        while len(seen) < probes:
            message = await changes.get_message(ignore_subscribe_messages=True, timeout=1.0)
            if message is None:
                continue
            name = message["channel"].partition(":")[2]
            used, now = int(await redis.hget(name, "used") or 0), time.time()
            model = names[name]
            while used_after(waiting[model]) <= used:
                seen[waiting[model]] = now
                waiting[model] += MODELS
    Path(file).write_text(json.dumps(seen))  # noqa: ASYNC240 - all is over


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]))
