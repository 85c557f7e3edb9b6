"""A real Prometheus watches a worker that reads the recordings and calls of tenants, a poller and a gate: every query
of every dashboard and rule finds something, or it is said here why not."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from blastdoor_gateway.config import Gate
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.link import open_redis
from blastdoor_gateway.metrics import PrometheusObserver
from prometheus_client import CollectorRegistry

from streams.api.server import serve
from streams.embedded.children import Child
from streams.embedded.server import HOST, free_port
from tests.acceptance.conftest import MODEL, RECORDINGS, Deployment, eventually
from tests.dashboards.boards import asked, spoken
from tests.dashboards.prometheus import Prometheus
from tests.dashboards.test_rules import RECORDED, RULES

pytestmark = [pytest.mark.embedded, pytest.mark.prometheus, pytest.mark.timeout(420)]

SERIES = re.compile(r"(?<![\w:])blastdoor_[a-z_]+(?![\w:])")
PATIENCE = 120.0
PERHAPS = {"sources: Time of a poll": "a provider is asked once a minute at most, mostly before anybody looks"}
"""Panels that may find nothing."""

HOSTILE = '=HYPERLINK("http://x","😀"),\n\u202e' + "😀" * 10_000
CALL = {"type": "usage", "ts": "2026-08-13T11:00:00+08:00", "model": "a-model", "prompt_tokens": 0}
CALLS = [
    *({"id": f"own-{n}", "tenant": "acme", "department": f"d{n}", "user": f"u{n}", "knowledge_base": f"k{n}"}
      | {"total_tokens": 100 + n} for n in range(25)),
    *({"id": f"tenant-{n}", "tenant": f"t{n}", "department": "rd", "total_tokens": 10 + n} for n in range(25)),
    {"id": "hostile", "tenant": HOSTILE[:100], "department": HOSTILE, "total_tokens": 7},
]  # fmt: skip
CALLED = sum(call["total_tokens"] for call in CALLS)
LEDGER = "sum(blastdoor_used_tokens)"
PIES = [f"Usage by {what}" for what in ("tenant", "department", "knowledge base", "user")]

Place = tuple[str, int]
"""A panel, a recorded number or a series, and the number of its query."""


@contextmanager
def polling(deployment: Deployment, folder: Path, address: str) -> Iterator[None]:
    """A poller that asks a file."""
    (folder / "balances.jsonl").write_text(
        json.dumps({"type": "balance", "ts": 1_786_593_600, "model": MODEL, "available": 5_000, "unit": "token"}) + "\n"
    )
    (folder / "policy.yaml").write_text(
        "providers: {by-hand: {kind: file, path: balances.jsonl, every: 1m, least: 1m}}\n"
    )
    where = ["--kafka", deployment.stack.kafka, "--redis", deployment.stack.redis, "--http", address]
    poller = Child(
        "poller", [sys.executable, "-m", "streams", "poll", "--policy", str(folder / "policy.yaml"), *where],
        log=folder / "poller.log",
    )  # fmt: skip
    try:
        yield
    finally:
        poller.stop()


@asynccontextmanager
async def guarding(deployment: Deployment, address: str) -> AsyncIterator[Guard]:
    """A gate with metrics."""
    registry = CollectorRegistry()
    gate = Gate(wait_seconds=5.0, engine=None)
    guard = Guard(open_redis(deployment.stack.redis, 5.0), gate, observer=PrometheusObserver(registry))
    runner = await serve(address, registry, lambda: True)
    try:
        yield guard
    finally:
        await runner.cleanup()
        await guard.close()


@contextmanager
def watching(folder: Path, targets: dict[str, str]) -> Iterator[Prometheus]:
    prometheus = Prometheus.start(folder, targets)
    try:
        yield prometheus
    finally:
        prometheus.stop()


async def answered(prometheus: Prometheus, queries: dict[Place, str]) -> None:
    """Asks until all those that have to have found something."""
    missing = dict(queries)
    deadline = time.monotonic() + PATIENCE
    while True:
        for place, query in list(missing.items()):
            if await prometheus.ever(query):
                del missing[place]
        wanted = {place for place in missing if place[0] not in PERHAPS}
        if not wanted:
            return
        if time.monotonic() > deadline:
            pytest.fail("\n".join(f"{place}: {missing[place]}" for place in sorted(wanted)))
        await asyncio.sleep(0.3)


def calls(folder: Path) -> Path:
    """Calls of the recordings' last day: of more tenants and values than have a place, of one with a hostile name, and
    of nobody in particular."""
    path = folder / "calls.jsonl"
    path.write_text("".join(json.dumps(CALL | call) + "\n" for call in CALLS))
    return path


async def pieces_add_up(prometheus: Prometheus) -> None:
    """The pieces of every pie, as Grafana asks for them, add up to the day's ledger, whoever was named."""

    async def all_of_it() -> bool:
        found = {await _sum(prometheus, [each.query for each in asked() if each.panel == pie]) for pie in PIES}
        return found == {await _sum(prometheus, [LEDGER])} and min(found) > CALLED

    await eventually(all_of_it, PATIENCE)


async def _sum(prometheus: Prometheus, parts: list[str]) -> float:
    found = [series for part in parts for series in await prometheus.now(spoken(part, "1m"))]
    return sum(float(series["value"][1]) for series in found)


def queries() -> dict[Place, str]:
    """Of panels and annotations, of recording rules, and each series that an alert looks at."""
    found = {(each.place, number): spoken(each.query, "1m") for number, each in enumerate(asked())}
    found |= {(name, 0): name for name in RECORDED}
    return found | {(f"series {name}", 0): name for rule in RULES for name in SERIES.findall(rule["expr"])}


async def test_every_query_finds_something(
    deploy: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Panels, annotations, recorded numbers and what alerts look at; and no rule fails while it is evaluated."""
    monkeypatch.setenv("BLASTDOOR_USER_METRICS", "on")
    poller, gate = (f"{HOST}:{free_port()}" for _ in range(2))
    policy = tmp_path / "worker.yaml"
    policy.write_text(
        "tenants: {default: {daily_tokens: 2_000, monthly_tokens: 50_000}}\n"
        "spend: {daily: 500, currency: CNY, basis: charged}\n"
        f"prices: {{{MODEL}: {{input: 1, cached_input: 0.2, output: 2}}, a-model: {{input: 1, output: 1}}}}\n"
        "rules:\n"
        "  - {name: on-trial, scope: model, when: used > 0, then: {action: block}, says: it is used, dry_run: true}\n"
    )
    async with deploy(event_clock=True, policy=str(policy)) as deployment, guarding(deployment, gate) as guard:
        targets = {"blastdoor": deployment.stack.http[0], "poller": poller, "gate": gate}
        with polling(deployment, tmp_path, poller), watching(tmp_path, targets) as prometheus:

            async def all_seen() -> bool:
                return len(await prometheus.now("up == 1")) == len(targets)

            await eventually(all_seen, PATIENCE)
            await deployment.ship(*RECORDINGS, calls(tmp_path))
            for tokens in (10, 20):
                await guard.settle(await guard.admit(model=MODEL, tenant="t", estimate=100), tokens)
            await answered(prometheus, queries())
            assert PERHAPS.keys() <= {place for place, _ in queries()}
            await pieces_add_up(prometheus)
            rules = await prometheus.rules()
            assert {rule["health"] for rule in rules} == {"ok"}, [rule.get("lastError") for rule in rules]
