"""LiteLLM's own proxy with the gate in front of every call."""

from __future__ import annotations

import asyncio
import re

import pytest
import yaml
from blastdoor_gateway.metrics import PrometheusObserver
from prometheus_client import CollectorRegistry
from redis import Redis

from tests.litellm.conftest import KEYS, SECRET, Proxy
from tests.litellm.upstream import PROMPT, WORDS
from tests.parts import ROOT

pytestmark = [
    pytest.mark.litellm,
    pytest.mark.embedded,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(180),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streaming"])
async def test_a_blocked_model_is_refused_with_the_reason(proxy: Proxy, stream: bool) -> None:
    """429 with the engine's rule and sentence and when to come back; nothing reaches the provider."""
    proxy.tell("blocked", "block")
    answer = await proxy.ask("blocked", stream=stream)
    assert answer.status == 429
    assert answer.error["message"] == "blastdoor: free pool of blocked is used up"
    assert answer.error["provider_specific_fields"]["rule"] == "model-pool-spent"
    assert await proxy.usage("blocked") == []


async def test_a_tenant_beyond_its_budget_is_told_to_degrade(proxy: Proxy) -> None:
    """The refusal says that a static answer may be given instead, and when the budget is new."""
    proxy.tell("mocked")
    answer = await proxy.ask("mocked", tenant="poor")
    assert answer.status == 429
    fields = answer.error["provider_specific_fields"]
    assert (fields["rule"], fields["layer"], fields["action"]) == ("daily-budget", "budget", "degrade")
    assert int(answer.headers["Retry-After"]) > 0


async def test_totals_are_what_was_called(proxy: Proxy) -> None:
    """Whole and streamed calls, some in parallel: the engine's totals, the gate's own count and the calls agree."""
    proxy.tell("streams")
    calls = [proxy.ask("streams", stream=number % 2 == 0) for number in range(12)]
    answers = await asyncio.gather(*calls)
    assert {answer.status for answer in answers} == {200}
    await proxy.eventually(lambda: proxy.own("streams") == 12 * (PROMPT + WORDS))
    await proxy.eventually(lambda: _count(proxy, "streams", 12))
    usage = await proxy.usage("streams")
    assert sum(each.total_tokens for each in usage) == 12 * (PROMPT + WORDS)
    assert {(each.prompt_tokens, each.cached_tokens, each.tenant, each.source) for each in usage} == {
        (PROMPT, 10, "acme", "litellm")
    }
    assert proxy.held("streams") == 0


async def test_a_client_chooses_no_ids(proxy: Proxy) -> None:
    """Calls under one call id that the client made up are two calls: both are counted."""
    proxy.tell("mocked")
    before = len(await proxy.usage("mocked"))
    for _ in range(2):
        answer = await proxy.ask("mocked", headers={"x-litellm-call-id": "always-the-same"})
        assert answer.status == 200
    await proxy.eventually(lambda: _count(proxy, "mocked", before + 2))


async def test_an_answer_from_litellms_cache_uses_no_tokens(proxy: Proxy) -> None:
    """The second of two equal questions is a request without tokens."""
    proxy.tell("streams")
    own, before = proxy.own("streams"), len(await proxy.usage("streams"))
    body = {"model": "streams", "messages": [{"role": "user", "content": SECRET}], "cache": {"use-cache": True}}
    for _ in range(2):
        async with proxy.post(body) as answer:
            assert answer.status == 200
            await answer.read()
    await proxy.eventually(lambda: _count(proxy, "streams", before + 2))
    assert sum(each.cache_hit for each in await proxy.usage("streams")) == 1
    await proxy.eventually(lambda: proxy.own("streams") == own + PROMPT + WORDS)
    await proxy.eventually(lambda: proxy.held("streams") == 0)


async def test_a_client_that_goes_away_is_counted(proxy: Proxy) -> None:
    """Broken off in mid-stream: the guessed tokens count, marked as an estimate, and nothing stays reserved."""
    proxy.tell("streams")
    own, before = proxy.own("streams"), len(await proxy.usage("streams"))
    proxy.upstream.gate.clear()
    body = {"model": "streams", "stream": True, "messages": [{"role": "user", "content": f"{SECRET} bye"}]}
    async with proxy.post(body) as answer:
        await answer.content.readline()
        answer.close()
    await asyncio.sleep(0.2)
    proxy.upstream.gate.set()
    await proxy.eventually(lambda: _count(proxy, "streams", before + 1))
    (event,) = [each for each in await proxy.usage("streams") if each.estimated]
    assert event.total_tokens > 0
    assert proxy.own("streams") == own + event.total_tokens
    assert proxy.held("streams") == 0


async def test_a_failed_call_gives_back_what_it_reserved(proxy: Proxy) -> None:
    """The provider refuses: the client sees its error, nothing stays reserved, no token is counted."""
    proxy.tell("refuses")
    assert (await proxy.ask("refuses")).status == 500
    await proxy.eventually(lambda: _count(proxy, "refuses", 1))
    (event,) = await proxy.usage("refuses")
    assert (event.status, event.total_tokens) == ("failure", 0)
    assert (proxy.held("refuses"), proxy.own("refuses")) == (0, 0)


async def test_a_stream_that_dies_counts_what_had_come(proxy: Proxy) -> None:
    """The provider breaks off after five chunks: what had come is counted once, and nothing stays reserved."""
    proxy.tell("dies")
    await proxy.ask("dies", stream=True)
    await proxy.eventually(lambda: _some(proxy, "dies"))
    await proxy.eventually(lambda: proxy.held("dies") == 0)
    usage = await proxy.usage("dies")
    assert 0 < sum(each.total_tokens for each in usage) == proxy.own("dies")


async def test_nothing_that_was_said_leaves_the_process(proxy: Proxy) -> None:
    """Neither Kafka nor Redis has a word of what was asked or answered."""
    proxy.tell("mocked")
    await proxy.ask("mocked")
    await proxy.usage("mocked")
    assert proxy.heard
    assert not any(SECRET.encode() in raw or b"hello" in raw for raw in proxy.heard)
    with Redis.from_url(proxy.redis.url) as redis:
        keys = list(redis.scan_iter())
        assert keys
        assert not any(SECRET.encode() in key + (redis.dump(key) or b"") for key in keys)


async def test_redis_stops_in_the_midst(proxy: Proxy) -> None:
    """Closed by configuration: calls are refused with the cause, never with a 500; when Redis is back they pass."""
    proxy.tell("mocked")
    assert (await proxy.ask("mocked")).status == 200
    await proxy.eventually(lambda: proxy.held("mocked") == 0)
    proxy.redis.stop()
    answers = [await proxy.ask("mocked") for _ in range(5)]
    assert {(answer.status, answer.error["provider_specific_fields"]["rule"]) for answer in answers} == {
        (429, "redis-unreachable")
    }
    proxy.redis.start()
    proxy.tell("mocked")

    async def passes() -> bool:
        proxy.tell("mocked")
        return (await proxy.ask("mocked")).status == 200

    await proxy.eventually(passes)
    with Redis.from_url(proxy.redis.url) as redis:
        assert redis.exists(KEYS.decision("model:mocked"))


async def _count(proxy: Proxy, model: str, calls: int) -> bool:
    return len(await proxy.usage(model)) == calls


async def _some(proxy: Proxy, model: str) -> bool:
    return len(await proxy.usage(model)) > 0


async def test_prometheus_finds_the_gates_metrics(proxy: Proxy) -> None:
    """At the path where deploy/prometheus.yml asks, with the expression by which it keeps what is the gate's: every
    metric, and the outcomes that never happened as zeros."""
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    (job,) = [each for each in config["scrape_configs"] if each["job_name"] == "litellm"]
    (kept,) = job["metric_relabel_configs"]
    async with proxy.session.get(proxy.url + job["metrics_path"]) as answer:
        assert answer.status == 200
        page = await answer.text()
    names = {name for name in re.findall(r"^(\w+)(?=[{ ])", page, re.MULTILINE) if re.fullmatch(kept["regex"], name)}
    registry = CollectorRegistry()
    PrometheusObserver(registry)
    assert {sample.name for family in registry.collect() for sample in family.samples} <= names
    assert re.search(r'^blastdoor_gate_settlements_total\{outcome="\w+"\} 0\.0$', page, re.MULTILINE)
    assert SECRET not in page
