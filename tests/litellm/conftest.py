"""The real proxy, with our plugin, a Redis of its own, the embedded broker and a provider of ours."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiokafka import AIOKafkaConsumer, TopicPartition
from blastdoor_gateway.contract import Action, Decision, Keys
from redis import Redis

from rules.intake.reader import Intake
from rules.records import Usage
from streams.embedded import redis_server
from streams.embedded.server import free_port
from streams.topics import Topics, ensure_topics
from tests.gateway.redis_of_ones_own import OwnRedis
from tests.litellm.upstream import Upstream
from tests.parts import LITELLM, ROOT

PREFIX = "gate-on-litellm"
KEYS = Keys(PREFIX)
SECRET = "the-prompt-that-must-not-leave"

CONFIG = """
model_list:
  - {model_name: mocked, litellm_params: {model: openai/mocked, api_key: dummy, mock_response: hello}}
  - {model_name: blocked, litellm_params: {model: openai/blocked, api_key: dummy, mock_response: hello}}
  - {model_name: streams, litellm_params: {model: openai/streams, api_key: dummy, api_base: "UPSTREAM"}}
  - {model_name: dies, litellm_params: {model: openai/dies, api_key: dummy, api_base: "UPSTREAM"}}
  - {model_name: refuses, litellm_params: {model: openai/refuses, api_key: dummy, api_base: "UPSTREAM"}}
litellm_settings:
  callbacks: ["prometheus", "blastdoor_gateway.litellm.handler"]
  require_auth_for_metrics_endpoint: false
  num_retries: 0
  cache: true
  cache_params: {type: local, mode: default_off}
general_settings: {master_key: sk-test-local, custom_auth: keys_of_tests.user_api_key_auth}
"""
AUTH = """
from litellm.proxy._types import UserAPIKeyAuth

async def user_api_key_auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, user_id="u1", team_id=api_key.removeprefix("sk-"))
"""
GATE = """
per_ip = false
per_user = "1000/min"
wait_seconds = 20
[default]
daily_tokens = 100_000
[tenants.poor]
daily_tokens = 10
[failure]
grace_seconds = 0
"""


@dataclass
class Proxy:
    """The proxy and what is around it."""

    url: str
    redis: OwnRedis
    kafka: str
    session: aiohttp.ClientSession
    upstream: Upstream
    heard: list[bytes] = field(default_factory=list)

    async def ask(
        self, model: str, *, tenant: str = "acme", headers: dict[str, str] | None = None, **more: Any
    ) -> Answer:
        """A chat completion, read to its end."""
        body = {"model": model, "messages": [{"role": "user", "content": f"{SECRET} {time.monotonic_ns()}"}]} | more
        async with self.post(body, tenant, headers) as answer:
            return Answer(answer.status, dict(answer.headers), await answer.text())

    def post(self, body: dict[str, Any], tenant: str = "acme", headers: dict[str, str] | None = None) -> Any:
        given = {"Authorization": f"Bearer sk-{tenant}"} | (headers or {})
        return self.session.post(f"{self.url}/v1/chat/completions", json=body, headers=given)

    def tell(self, model: str, action: str = "allow", **fields: Any) -> None:
        """A decision as the engine writes it, and its heartbeat."""
        plain = {
            "rule": "model-pool-spent", "reason": f"free pool of {model} is used up", "day": "2026-08-13",
            "decided_at": "2026-08-13T12:00:00+08:00", "version": (1, 1), "counter": "c1", "counted": 0,
            "ceiling": 10**9, "used": 0, "limit": 10**9,
        }  # fmt: skip
        decision = Decision(**{"scope": f"model:{model}", "action": Action(action)} | plain | fields)
        with Redis.from_url(self.redis.url) as redis:
            redis.hset(KEYS.decision(decision.scope), mapping=decision.to_hash())
            redis.hset(KEYS.engine, mapping={"at_ms": time.time_ns() // 1_000_000})

    def own(self, model: str) -> int:
        """What the gate counted of a model by itself."""
        with Redis.from_url(self.redis.url, decode_responses=True) as redis:
            return sum(int(redis.get(key) or 0) for key in redis.scan_iter(f"{PREFIX}:own:model:{model}:c1:*"))

    def held(self, model: str) -> int:
        with Redis.from_url(self.redis.url, decode_responses=True) as redis:
            return -int(redis.zscore(KEYS.held(f"model:{model}"), "#") or 0)

    async def usage(self, model: str) -> list[Usage]:
        """All events of a model so far, as the engine reads them; a repeated id counts once."""
        await self._hear()
        read = [Intake(UTC).read(raw) for raw in self.heard]
        assert all(isinstance(found, Usage) for found in read)
        by_id = {found.id: found for found in read if isinstance(found, Usage) and found.model == model}
        return list(by_id.values())

    async def _hear(self) -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka, auto_offset_reset="earliest", fetch_max_wait_ms=20)
        await consumer.start()
        try:
            topic = Topics(PREFIX).usage
            places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            ends = await consumer.end_offsets(places)
            consumer.assign(places)
            await consumer.seek_to_beginning()
            self.heard = []
            while sum(ends.values()) > len(self.heard):
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    self.heard += [record.value for record in records]
        finally:
            await consumer.stop()

    async def eventually(self, true: Callable[[], Any], within: float = 60.0) -> None:
        deadline = time.monotonic() + within
        while True:
            found = true()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            assert time.monotonic() < deadline, f"not within {within} s"
            await asyncio.sleep(0.05)


@dataclass
class Answer:
    """What the client got."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)["error"]
        return found


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    server = OwnRedis(redis_server.find_binary(), tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxy(own_redis: OwnRedis, broker: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    """Started once for a module; takes some 15 s."""
    directory, upstream = tmp_path_factory.mktemp("litellm"), Upstream()
    await ensure_topics(broker, PREFIX, 2)
    config = CONFIG.replace("UPSTREAM", await upstream.start())
    for name, content in {"config.yaml": config, "keys_of_tests.py": AUTH, "gate.toml": GATE}.items():
        (directory / name).write_text(content, encoding="utf-8")
    port = free_port()
    process = _start(directory, port, _environment(own_redis, broker, directory))
    async with aiohttp.ClientSession() as session:
        try:
            await _ready(session, port, process, directory / "log.txt")
            yield Proxy(f"http://127.0.0.1:{port}", own_redis, broker, session, upstream)
        finally:
            process.kill()
            process.wait(10)
            await upstream.stop()


def _environment(redis: OwnRedis, broker: str, directory: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT / "gateway"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "BLASTDOOR_REDIS": redis.url,
        "BLASTDOOR_KAFKA": broker,
        "BLASTDOOR_GATE": str(directory / "gate.toml"),
        "BLASTDOOR_PREFIX": PREFIX,
    }


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-4000:]


def _start(directory: Path, port: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Its output goes to `log.txt` there."""
    command = [
        str(LITELLM),
        "--config",
        "config.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--num_workers",
        "1",
    ]
    with (directory / "log.txt").open("wb") as log:
        return subprocess.Popen(command, cwd=directory, stdout=log, stderr=log, env=environment)


async def _ready(session: aiohttp.ClientSession, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 150
    while True:
        try:
            async with session.get(f"http://127.0.0.1:{port}/health/liveliness") as answer:
                if answer.status == 200:
                    return
        except aiohttp.ClientError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(_tail(log))
        await asyncio.sleep(0.2)
