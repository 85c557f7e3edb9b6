"""What admission adds to a call, beside LiteLLM's own rate limiter and throttled-py, on the same Redis, in one run.

    .cache/litellm/bin/python bench/admission.py [--rate 1000] [--seconds 10] [--json FILE]

Calls start on a timetable of 1,000 a second from one process, whether or not earlier ones have ended; a late start
counts as latency. Each contestant runs alone, in turns, and the turns are repeated. Ours answers all layers in one
round trip: bans and kill switch, six limits (two rates, the tenant's day and month, the model, the day's spend), and it
reserves. LiteLLM's limiter checks requests and tokens of key, user and team; throttled-py does six limits, and one.

Then the same calls one after another, which is what admission adds where the process has time to spare.

Everything runs under uvloop, because LiteLLM's proxy does; all contestants share the one loop.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "gateway"))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import uvloop
from blastdoor_gateway.config import Budget, Gate, Rate
from blastdoor_gateway.contract import Action, Decision, Keys
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.link import open_redis
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

Call = Callable[[int], Awaitable[Any]]
MANY = 10**9
TURNS = 3


@dataclass
class Contestant:
    """`call` gets the number of the call; what it took is kept in seconds."""

    name: str
    call: Call
    took: list[float] = field(default_factory=list)  # on the timetable
    alone: list[float] = field(default_factory=list)  # one after another

    def at(self, share: float) -> float:
        """A percentile on the timetable, in ms."""
        return percentile(self.took, share)


def percentile(took: list[float], share: float) -> float:
    """In ms."""
    ordered = sorted(took)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


async def run(contestant: Contestant, rate: int, seconds: float) -> None:
    """One turn on the timetable."""
    began, calls = time.perf_counter(), int(rate * seconds)

    async def one(number: int, due: float) -> None:
        await contestant.call(number)
        contestant.took.append(time.perf_counter() - due)

    running = set()
    for number in range(calls):
        due = began + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        # The loop's timer wakes up to a millisecond late; that is not the contestant's.
        task = asyncio.create_task(one(number, max(due, time.perf_counter()) if wait > 0 else due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)


async def run_alone(contestant: Contestant, calls: int) -> None:
    """One call after another."""
    for number in range(calls):
        began = time.perf_counter()
        await contestant.call(number)
        contestant.alone.append(time.perf_counter() - began)


def blastdoor(url: str) -> Call:
    """Every layer on."""
    prices = {"input": 10**9, "output": 2 * 10**9}
    common: dict[str, Any] = {
        "action": Action.ALLOW, "rule": "r", "reason": "", "day": "2026-08-13", "version": (1, 1), "counter": "c",
        "decided_at": "2026-08-13T12:00:00+08:00", "counted": 0, "used": 0, "ceiling": 2**52, "limit": 2**52,
    }  # fmt: skip
    with Redis.from_url(url) as redis:
        keys = Keys()
        for decision in (Decision(scope="model:m", prices=prices, **common), Decision(scope="global", **common)):
            redis.hset(keys.decision(decision.scope), mapping=decision.to_hash())
        redis.hset(keys.engine, mapping={"at_ms": time.time_ns() // 10**6 + 3_600_000})
    budget = Budget(daily_tokens=2**52, monthly_tokens=2**52)
    gate = Gate(per_ip=Rate(10**6), per_user=Rate(10**6), default=budget, legacy=False, wait_seconds=5.0)
    guard = Guard.connect(url, gate)

    async def call(number: int) -> None:
        name = f"t{number % 50}"
        admission = await guard.admit(model="m", tenant=name, user="u", ip=f"10.0.0.{number % 250}", estimate=1_000)
        assert admission.allowed, admission

    return call


def litellm_limiter(url: str) -> Call:
    """Limits of key, user and team, in requests and tokens."""
    from litellm import DualCache
    from litellm.caching.redis_cache import RedisCache
    from litellm.proxy._types import UserAPIKeyAuth
    from litellm.proxy.hooks.parallel_request_limiter_v3 import _PROXY_MaxParallelRequestsHandler_v3
    from litellm.proxy.utils import InternalUsageCache

    logging.getLogger("LiteLLM Proxy").setLevel(logging.ERROR)
    port = int(url.rsplit(":", 1)[1].split("/", maxsplit=1)[0])
    cache = DualCache(redis_cache=RedisCache(host="127.0.0.1", port=port))
    limiter = _PROXY_MaxParallelRequestsHandler_v3(internal_usage_cache=InternalUsageCache(cache))

    async def call(number: int) -> None:
        name = f"t{number % 50}"
        key = UserAPIKeyAuth(
            api_key=f"k{name}", user_id=f"u{name}", team_id=name, rpm_limit=MANY, tpm_limit=MANY, user_rpm_limit=MANY,
            user_tpm_limit=MANY, team_rpm_limit=MANY, team_tpm_limit=MANY,
        )  # fmt: skip
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 10}
        await limiter.async_pre_call_hook(key, cache, body, "acompletion")

    return call


def throttled(url: str, limits: int) -> Call:
    """GCRA, as many limits as asked for, one after another as its interface has it."""
    from throttled.asyncio import RateLimiterType, RedisStore, Throttled, per_min

    pool = {"max_connections": 64, "timeout": 60}  # as many as ours; its own choice fails under a burst
    blocking = {"CONNECTION_POOL_CLASS": "redis.asyncio.BlockingConnectionPool", "CONNECTION_POOL_KWARGS": pool}
    store = RedisStore(server=url, options=blocking)
    limit = Throttled(using=RateLimiterType.GCRA.value, quota=per_min(10**8, burst=10**8), store=store)

    async def call(number: int) -> None:
        for place in range(limits):
            assert not (await limit.limit(f"{place}:{number % 50}", cost=1)).limited

    return call


def bare(url: str) -> Call:
    """A round trip that does nothing: what redis-py and the loop cost by themselves."""
    client = open_redis(url, 5.0)

    async def call(_: int) -> None:
        await client.execute_command("EVAL", "return 1", 0)

    return call


@contextmanager
def own_redis() -> Iterator[str]:
    """A Redis that keeps nothing on disk."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = shutil.which("redis-server") or sys.exit("there is no redis-server on the PATH")
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with Redis.from_url(f"redis://127.0.0.1:{port}/0") as redis:
            while not _answers(redis):
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


def _answers(redis: Redis) -> bool:
    try:
        return bool(redis.ping())
    except RedisConnectionError:
        return False


async def measure(url: str, rate: int, seconds: float) -> list[Contestant]:
    """All contestants, in turns; each has warmed up before."""
    contestants = [
        Contestant("bare round trip", bare(url)),
        Contestant("blastdoor, all layers", blastdoor(url)),
        Contestant("throttled-py, one rate", throttled(url, 1)),
        Contestant("throttled-py, six limits", throttled(url, 6)),
        Contestant("LiteLLM's limiter", litellm_limiter(url)),
    ]
    for contestant in contestants:
        await run(contestant, rate // 10, 1.0)
        contestant.took.clear()
    gc.collect()
    gc.freeze()  # LiteLLM's half a million objects are nobody's garbage
    for _ in range(TURNS):
        for contestant in contestants:
            gc.collect()
            await run(contestant, rate, seconds / TURNS)
            await run_alone(contestant, 500)
    return contestants


def table(contestants: list[Contestant], rate: int) -> str:
    """Ratios are of the median to ours."""
    ours = next(each for each in contestants if each.name.startswith("blastdoor"))
    rows = [
        f"{rate} calls/s from one process",
        f"{'':26}{'p50 ms':>9}{'p99 ms':>9}{'ratio':>7}   alone:{'p50 ms':>8}{'p99 ms':>9}{'ratio':>7}",
    ]
    for each in contestants:
        ratio, alone = each.at(0.5) / ours.at(0.5), percentile(each.alone, 0.5)
        rows.append(
            f"{each.name:26}{each.at(0.5):9.3f}{each.at(0.99):9.3f}{ratio:7.2f}{alone:17.3f}"
            f"{percentile(each.alone, 0.99):9.3f}{alone / percentile(ours.alone, 0.5):7.2f}"
        )
    return "\n".join(rows)


def rows_of(contestants: list[Contestant], rate: int) -> list[dict[str, Any]]:
    """For machines."""
    return [
        {
            "name": each.name, "rate": rate, "p50_ms": each.at(0.5), "p99_ms": each.at(0.99),
            "alone_p50_ms": percentile(each.alone, 0.5), "alone_p99_ms": percentile(each.alone, 0.99),
        }
        for each in contestants
    ]  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rate", type=int, default=1_000)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    with own_redis() as url:
        found = uvloop.run(measure(url, given.rate, given.seconds))
    print(table(found, given.rate))
    if given.json:
        given.json.write_text(json.dumps(rows_of(found, given.rate), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
