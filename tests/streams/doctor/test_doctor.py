"""The doctor on healthy and on sick surroundings: each sickness is named, with what to do."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from click.testing import CliRunner, Result

from rules.intake.wire import encode
from rules.policy import Policy
from streams.cli import main
from streams.doctor import kafka, policy, redis, sources
from streams.doctor.finding import Finding, Level
from streams.settings import Settings
from streams.ship.outbox import open_outbox
from streams.ship.parcels import Parcel
from streams.ship.tally import Tally
from streams.topics import TopicError, Topics, ensure_topics
from tests.rules.test_twins import calls
from tests.streams.publish.redis_server import RedisServer, free_port

_numbers = itertools.count(1)


@pytest.fixture
def prefix() -> str:
    return f"doctor-{next(_numbers)}"


def wrong(findings: list[Finding]) -> str:
    """What is worse than a note."""
    return "\n".join(f"{each.level.name} {each.what}: {each.advice}" for each in findings if each.level > Level.NOTE)


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments], env=environment)


# The command


@pytest.mark.embedded
def test_every_finding_that_is_wrong_has_advice(broker: str, redis_url: str, prefix: str) -> None:
    """In JSON, one object a line: what is wrong says what to do."""
    found = run("--kafka", broker, "--redis", redis_url, "--prefix", prefix, "--offline", "--json")
    assert found.exit_code == 0, found.output
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert {line["part"] for line in lines} >= {"kafka", "redis", "clock", "policy", "channels", "usage"}
    assert all(line["advice"] for line in lines if line["level"] in {"warning", "error"})


@pytest.mark.embedded
def test_strict_lets_a_warning_decide(broker: str, redis_url: str, prefix: str) -> None:
    """Nobody is alerted: without --strict that is no failure."""
    assert run("--kafka", broker, "--redis", redis_url, "--prefix", prefix, "--offline", "--strict").exit_code == 1


def test_nothing_answers() -> None:
    """Exit code 1, each part in a line, no traceback."""
    found = run("--kafka", "127.0.0.1:1", "--redis", "redis://127.0.0.1:1/0", "--offline")
    assert found.exit_code == 1
    assert "no Kafka broker answers at 127.0.0.1:1" in found.stdout
    assert "Redis does not answer" in found.stdout
    assert "Traceback" not in found.output


# Redis


Server = Callable[..., RedisServer]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Starts redis-server 7 with options of a test."""
    started: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        found = RedisServer(str(shutil.which("redis-server")), tmp_path, *options)
        found.start()
        started.append(found)
        return found

    yield start
    for each in started:
        each.stop()


def look(server: RedisServer, prefix: str = "bd") -> list[Finding]:
    return asyncio.run(redis.examine(Settings(redis=server.url, prefix=prefix)))


@pytest.mark.redis7
def test_a_redis_that_is_fit(server: Server) -> None:
    """Only that no engine decides is wrong with it."""
    assert wrong(look(server())).startswith("WARNING no engine is deciding")
    assert "\n" not in wrong(look(server()))


@pytest.mark.redis7
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"), "ERROR under memory pressure keys are thrown"),
        (("--maxmemory", "1mb", "--maxmemory-policy", "noeviction"), "of 1 MiB are used: raise maxmemory"),
        (("--cluster-enabled", "yes", "--cluster-port", str(free_port())), "ERROR Redis Cluster is not supported"),
        (("--replicaof", "127.0.0.1 1"), "ERROR this Redis is a replica"),
        (("--rename-command", "SET", ""), "ERROR we may not write bd:*"),
    ],
    ids=["evicts", "full", "cluster", "replica", "no right to write"],
)
def test_a_redis_that_is_not(server: Server, options: tuple[str, ...], message: str) -> None:
    """Each way in which it cannot do the work is told."""
    assert message in wrong(look(server(*options)))


@pytest.mark.redis7
@pytest.mark.parametrize(
    ("beat", "message"),
    [
        ("0", "WARNING the engine was last heard of"),
        ("soon", "ERROR the engine's heartbeat cannot be read"),
        ("-5", "ERROR the engine's heartbeat cannot be read"),
    ],
)
def test_a_heartbeat_that_is_none(server: Server, beat: str, message: str) -> None:
    """An engine that is silent, and a key that somebody else writes: both are told, nothing falls over."""
    running = server()
    with running.client() as client:
        client.hset("bd:engine", mapping={"at_ms": beat, "worker:a:1": "1"})
    assert message in wrong(look(running))


@pytest.mark.redis7
def test_a_gate_that_still_writes_for_itself(server: Server) -> None:
    """A number that is not the one the engine wrote last was written by a gate's own sync thread."""
    running = server()
    with running.client() as client:
        client.hset("bd:legacy:flash", mapping={"score": "s", "balance": "5", "usage": "6"})
        client.mset({"limit:dynamic:volcengine:balance_at_sync:flash": "5"})
        assert "somebody else" not in wrong(look(running))
        client.mset({"limit:dynamic:volcengine:balance_at_sync:flash": "2242178"})
        assert "ERROR somebody else writes the limit of flash" in wrong(look(running))
        client.set("limit:dynamic:volcengine:remaining:flash", "1")
        assert any("older than v6" in finding.what for finding in look(running))


@pytest.mark.redis7
def test_a_clock_that_is_wrong(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is an error, three seconds are a warning."""
    running = server()
    now = redis.wall_clock
    for offset, level in ((60_000, "ERROR"), (-3_000, "WARNING")):
        monkeypatch.setattr(redis, "wall_clock", lambda offset=offset: now() + offset)
        assert f"{level} Redis's clock" in wrong(look(running))


# Kafka


async def create(address: str, topic: str, partitions: int, **settings: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    try:
        configs = {name.replace("_", "."): value for name, value in settings.items()}
        await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
    finally:
        await admin.close()


@pytest.mark.kafka
async def test_topics_that_are_as_they_must_be(apache_kafka: str, prefix: str) -> None:
    """What a worker creates is in order; before that, a worker is what is missing."""
    settings = Settings(kafka=apache_kafka, prefix=prefix)
    assert "there are no topics" in wrong(await kafka.examine(settings))
    await ensure_topics(apache_kafka, prefix)
    assert wrong(await kafka.examine(settings)) == ""


@pytest.mark.kafka
async def test_topics_that_are_not(apache_kafka: str, prefix: str) -> None:
    """A wrong cleanup policy, a short retention, a number of partitions that does not fit."""
    topics = Topics(prefix)
    await create(apache_kafka, topics.usage, 8, cleanup_policy="delete", retention_ms="3600000")
    await create(apache_kafka, topics.facts, 8, cleanup_policy="delete")
    await create(apache_kafka, topics.alerts, 3)
    with pytest.raises(TopicError):
        await ensure_topics(apache_kafka, prefix)
    found = wrong(await kafka.examine(Settings(kafka=apache_kafka, prefix=prefix)))
    assert f"ERROR {topics.alerts} has 3 partitions, not 8" in found
    assert f"ERROR {topics.facts} has cleanup.policy=delete: set it to compact" in found
    assert f"WARNING {topics.usage} keeps records for 0.0417 days" in found


# Usage


@pytest.mark.embedded
async def test_two_sources_for_one_gateway(broker: str, prefix: str) -> None:
    """The log and the sink tell of the same calls: found by looking at them."""
    settings, topic = Settings(kafka=broker, prefix=prefix), Topics(prefix).usage
    partitions = await ensure_topics(broker, prefix)
    assert "holds no usage" in wrong(await sources.examine(settings, Policy()))
    async with open_outbox(broker, partitions, Tally()) as outbox:
        for event in [*calls("log", 30, 1), *calls("litellm", 30, 1)]:
            await outbox.put(Parcel("usage", topic, event.id.encode(), encode(event)))
        await outbox.settle()
    found = wrong(await sources.examine(settings, Policy()))
    assert "ERROR 'litellm' and 'log' tell of the same calls: 30 of the last 30" in found
    assert "WARNING the newest event is" in found


# Policy


def examine(tmp_path: Path, text: str) -> tuple[Any, list[Finding]]:
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    return policy.examine(Settings(policy=str(path)))


def test_a_policy_with_mistakes(tmp_path: Path) -> None:
    """Each is a finding; what can be read of it is looked at all the same."""
    _, found = examine(tmp_path, "channels: {c: {kind: webhook, url: env:NOT_THERE}}\nmode: obsrve\n")
    assert wrong(found).count("ERROR") == 2


def test_a_policy_that_does_not_bind(tmp_path: Path) -> None:
    """Observing, alerting nobody, rates that only gates hold, two ways of counting: each is told."""
    text = (
        "mode: observe\nlimits: {per_ip: 5/min}\ngateways: {a: {usage: daily_usage, hashes: [h]}, b: {usage: events}}\n"
    )
    _, found = examine(tmp_path, text)
    for part in ("mode is observe", "nobody is alerted", "limits.per_ip bind", "usage is read from daily_usage of a"):
        assert part in wrong(found)


async def test_channels_and_providers_are_reached(tmp_path: Path, receiver_port: int) -> None:
    """A channel where nobody listens, one where somebody does; a provider that answers and one that does not."""
    (tmp_path / "good.jsonl").write_text('{"type":"balance","ts":"2026-08-13T00:00:00Z","model":"m","available":5}')
    text = (
        f"channels: {{up: {{kind: webhook, url: 'http://127.0.0.1:{receiver_port}/a'}},"
        " down: {kind: webhook, url: 'http://127.0.0.1:1/a'}}\n"
        "providers: {good: {kind: file, path: good.jsonl}, bad: {kind: file, path: none.jsonl}}\n"
    )
    found, _ = examine(tmp_path, text)
    said = wrong([*await policy.reach(found), *await policy.ask(found, str(tmp_path / "policy.yaml"))])
    assert said.startswith("ERROR down cannot be reached")
    assert "ERROR bad gives no balance: Unreadable" in said
    assert len(said.splitlines()) == 2


@pytest.fixture
async def receiver_port() -> Any:
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    yield listening.sockets[0].getsockname()[1]
    listening.close()
