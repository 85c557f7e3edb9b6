"""Apache Kafka with its authorizer: each part works with the rights that the page gives it, and has no others."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from blastdoor_gateway.events.build import outbox_from
from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.money import Tokens
from blastdoor_gateway.settings import Settings
from redis import Redis

from streams.embedded.server import free_port
from streams.topics import Topics, partition_count
from tests.kafka.apache import ApacheKafka
from tests.security.conftest import ROOT
from tests.security.rights import documented, grant

pytestmark = [pytest.mark.kafka, pytest.mark.embedded, pytest.mark.timeout(300)]

PRINCIPALS = ("worker", "poller", "shipper", "gateway", "operator")
PATIENCE = 60.0  # seconds; a loaded machine starts things slowly


class Guarded(NamedTuple):
    """A broker that asks who comes. `address` is for those who have a password."""

    address: str
    redis: str
    worker: subprocess.Popen[str]

    def await_worker(self, since: float) -> None:
        """Between two looks at what it has done."""
        assert self.worker.poll() is None, self.worker.communicate()[1]
        assert time.monotonic() < since + PATIENCE
        time.sleep(0.1)

    def connection(self, principal: str) -> dict[str, Any]:
        """For a client that is none of ours."""
        return {
            "bootstrap_servers": self.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": principal,
            "sasl_plain_password": f"{principal}-s3cret",
        }

    def run(self, principal: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            env=surroundings(self.address, self.redis, principal),
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "streams", *arguments]


def surroundings(address: str, redis: str, principal: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "gateway"), os.environ.get("PYTHONPATH", "")]),
        "BLASTDOOR_KAFKA": address,
        "BLASTDOOR_KAFKA_SECURITY": "sasl_plaintext",
        "BLASTDOOR_KAFKA_SASL": "PLAIN",
        "BLASTDOOR_KAFKA_USER": principal,
        "BLASTDOOR_KAFKA_PASSWORD": f"{principal}-s3cret",
        "BLASTDOOR_REDIS": redis,
    }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Guarded]:
    """With the rights of the page, and a worker that has created the topics."""
    port = free_port()
    users = " ".join(f'user_{name}="{name}-s3cret"' for name in PRINCIPALS)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": "User:ANONYMOUS",  # the listener without passwords is this test's own
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} required {users};",
    }
    kafka = ApacheKafka.start(tmp_path_factory.mktemp("guarded-kafka"), settings, {"SASL_PLAINTEXT": port})
    try:
        asyncio.run(grant(kafka.address, documented()))
        yield from _with_worker(f"127.0.0.1:{port}", redis_url, kafka.address)
    finally:
        kafka.stop()


def _with_worker(address: str, redis: str, unguarded: str) -> Iterator[Guarded]:
    http = f"127.0.0.1:{free_port()}"
    worker = subprocess.Popen(
        command("worker", "--http", http),
        env=surroundings(address, redis, "worker"),
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    found, since = Guarded(address, redis, worker), time.monotonic()
    try:
        while not asyncio.run(partition_count(unguarded, Topics("blastdoor").dead_letters)):
            found.await_worker(since)
        yield found
        assert worker.poll() is None, worker.communicate()[1]
    finally:
        worker.kill()
        worker.wait()


def usage(identity: str, model: str) -> dict[str, Any]:
    return {"type": "usage", "id": identity, "ts": time.time(), "model": model, "total_tokens": 7}


def test_the_page_names_every_part() -> None:
    """Nobody has rights that no test uses."""
    assert {right.principal for right in documented()} == set(PRINCIPALS)


def test_from_the_shipper_s_event_and_the_poller_s_reading_to_the_decision(guarded: Guarded, tmp_path: Path) -> None:
    """Each with its own rights; the worker's reach from the topics to the decision key."""
    events, policy, balances = tmp_path / "events.jsonl", tmp_path / "policy.yaml", tmp_path / "balances.jsonl"
    events.write_text(json.dumps(usage("e-1", "shipped")) + "\nnonsense\n")
    shipped = guarded.run("shipper", "ship", str(events))
    assert shipped.returncode == 0, shipped.stderr
    balances.write_text(json.dumps({"type": "balance", "ts": time.time(), "model": "shipped", "available": 5}) + "\n")
    policy.write_text("providers: {own: {kind: file, path: balances.jsonl}}\n")
    polled = guarded.run("poller", "poll", "--once", "--policy", str(policy))
    assert polled.returncode == 0, polled.stderr
    with Redis.from_url(guarded.redis, decode_responses=True) as redis:
        since = time.monotonic()
        while redis.hget("blastdoor:decision:model:shipped", "pool_high") is None:
            guarded.await_worker(since)


async def test_a_gateway_writes_usage(guarded: Guarded) -> None:
    """The gate's own distribution, with the same variables as ours."""
    outbox = outbox_from(Settings.from_environment(surroundings(guarded.address, guarded.redis, "gateway")), None)
    assert outbox is not None
    outbox.put(UsageEvent(id="g-1", ts="2026-08-13T11:08:00+08:00", model="gated", tokens=Tokens(2, 1, 1, 0)))
    await outbox.close(within=PATIENCE)
    assert len(outbox) == 0


@pytest.mark.parametrize(
    "arguments", [("explain", "shipped"), ("alerts", "list"), ("doctor", "--offline")], ids=lambda words: words[0]
)
def test_an_operator_looks_at_everything(guarded: Guarded, arguments: tuple[str, ...]) -> None:
    """Also at the tables behind a decision and the settings of topics."""
    found = guarded.run("operator", *arguments)
    assert "Authorization" not in found.stdout + found.stderr
    assert found.returncode == 0, found.stdout + found.stderr


FORBIDDEN = [
    *(("poller", topic) for topic in ("usage", "controls", "facts", "decisions", "decisions-latest", "dead-letters")),
    *(("shipper", topic) for topic in ("balances", "controls", "facts", "decisions", "decisions-latest", "alerts")),
    *(("gateway", topic) for topic in ("balances", "controls", "facts", "decisions", "alerts", "dead-letters")),
    *(("operator", topic) for topic in ("usage", "balances", "controls", "facts", "decisions", "decisions-latest")),
]


async def test_nobody_writes_what_others_decide_by(guarded: Guarded) -> None:
    """Above all balances, controls and facts."""
    for principal in ("poller", "shipper", "gateway", "operator"):
        async with AIOKafkaProducer(**guarded.connection(principal)) as producer:
            for topic in (topic for who, topic in FORBIDDEN if who == principal):
                with pytest.raises(TopicAuthorizationFailedError):
                    await producer.send_and_wait(f"blastdoor.{topic}", b"{}")


@pytest.mark.parametrize("principal", ["poller", "shipper", "gateway"])
async def test_who_writes_does_not_read(guarded: Guarded, principal: str) -> None:
    """Not even what it writes itself."""
    async with AIOKafkaConsumer(**guarded.connection(principal), auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition("blastdoor.usage", 0)])
        with pytest.raises(TopicAuthorizationFailedError):
            await asyncio.wait_for(consumer.getone(), PATIENCE)


async def test_nobody_takes_the_worker_s_place(guarded: Guarded) -> None:
    """Its group is its own: another member would be given partitions and leave them unread."""
    consumer = AIOKafkaConsumer(
        "blastdoor.usage", group_id="blastdoor.worker", **guarded.connection("operator"), auto_offset_reset="earliest"
    )
    with pytest.raises(GroupAuthorizationFailedError):
        await asyncio.wait_for(consumer.start(), PATIENCE)
    await consumer.stop()


@pytest.mark.parametrize("arguments", [("ship", "-"), ("alerts", "list")], ids=lambda words: words[0])
def test_a_wrong_password_is_told_as_such(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """In the broker's words and our one line, without the password."""
    for name, value in surroundings(guarded.address, guarded.redis, "shipper").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BLASTDOOR_KAFKA_PASSWORD", "wr0ng-wr0ng")
    found = subprocess.run(
        command(*arguments), capture_output=True, text=True, cwd=ROOT, check=False, stdin=subprocess.DEVNULL
    )
    assert found.returncode != 0
    assert found.stderr.startswith(f"Error: no Kafka broker answers at {guarded.address}: ")
    assert "Authentication failed" in found.stderr
    assert found.stderr.count("\n") == 1
    assert "wr0ng" not in found.stderr


def test_who_may_not_create_topics_says_so(guarded: Guarded, tmp_path: Path) -> None:
    """In one line: under a prefix of which there is nothing yet."""
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(usage("e-2", "m")) + "\n")
    found = guarded.run("shipper", "ship", str(events), "--prefix", "other")
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert "the broker refuses to create other.usage" in found.stderr
    assert "s3cret" not in found.stderr
