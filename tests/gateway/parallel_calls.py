"""A process of its own that makes parallel calls: `parallel_calls.py URL CALLS TOKENS`; prints how many were let in."""

from __future__ import annotations

import asyncio
import sys

from blastdoor_gateway.config import Budget, Gate
from blastdoor_gateway.guard import Guard


async def main(url: str, calls: int, tokens: int) -> None:
    gate = Gate(wait_seconds=10.0, per_ip=None, per_user=None, engine=None, default=Budget(daily_tokens=1_000))
    async with Guard.connect(url, gate) as guard:
        print("ready", flush=True)
        sys.stdin.readline()
        asked = [guard.admit(model="m", tenant="t", estimate=tokens) for _ in range(calls)]
        print(sum(admission.allowed for admission in await asyncio.gather(*asked)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
