"""What Prometheus is told, and what it costs the others of the process."""

from __future__ import annotations

import asyncio

from aiohttp import ClientSession
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from streams.api.server import page, serve
from streams.embedded.server import free_port


def registry(families: int, samples: int) -> CollectorRegistry:
    made = CollectorRegistry()
    for family in range(families):
        gauge = Gauge(f"gauge_{family}", "one of many", ["label"], registry=made)
        for sample in range(samples):
            gauge.labels(f"value-{sample}").set(sample)
    Counter("calls", "counted", ["kind"], registry=made).labels("any").inc(3)
    return made


async def told(made: CollectorRegistry, query: str = "") -> bytes:
    address = f"127.0.0.1:{free_port()}"
    runner = await serve(address, made, lambda: True)
    try:
        async with ClientSession() as client, client.get(f"http://{address}/metrics{query}") as answer:
            return await answer.read()
    finally:
        await runner.cleanup()


async def test_every_family_is_told() -> None:
    """As Prometheus' own client writes them, in its order."""
    made = registry(5, 3)
    assert await told(made) == generate_latest(made)


async def test_whoever_asks_for_some_gets_these_alone() -> None:
    """By the names of their samples; a name that there is not says nothing."""
    made = registry(3, 2)
    found = await told(made, "?name[]=calls_total&name[]=gauge_1&name[]=nothing")
    names = {line.partition("{")[0] for line in found.decode().splitlines() if not line.startswith("#")}
    assert names == {"calls_total", "gauge_1"}


async def test_a_long_page_lets_others_in_between() -> None:
    """It takes a hundred stretches of the event loop, and gives each of them back."""
    turns, making = 0, asyncio.create_task(page(registry(200, 100)))
    while not making.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 3
