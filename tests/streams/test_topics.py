"""Topics come into being once, with their settings, whoever is first."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams import topics as module
from streams.embedded.server import free_port
from streams.topics import (
    TANSU,
    BrokerUnavailable,
    TopicError,
    Topics,
    detect_timing,
    ensure_changelogs,
    ensure_topics,
    facts_partition,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    return f"topics{next(_numbers)}"


@pytest.fixture
async def admin(broker: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    yield admin
    await admin.close()


async def counts(admin: AIOKafkaAdminClient, prefix: str) -> dict[str, int]:
    found = await admin.describe_topics()
    return {each["topic"]: len(each["partitions"]) for each in found if each["topic"].startswith(prefix)}


async def config(admin: AIOKafkaAdminClient, topic: str) -> dict[str, str]:
    (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    entries: list[Any] = answer.resources[0][-1]
    return {name: value for name, value, *_ in entries}


def test_names() -> None:
    """The names others rely on."""
    topics = Topics("blastdoor")
    assert topics.usage == "blastdoor.usage"
    assert set(topics.configs) == {
        f"blastdoor.{name}"
        for name in [
            "usage",
            "balances",
            "controls",
            "facts",
            "decisions",
            "decisions-latest",
            "alert-outcomes",
            "alerts",
            "dead-letters",
            "sheets",
            "rollups",
        ]
    }
    assert {topics.facts, topics.decisions_latest, topics.dead_letters} <= set(topics.configs)


@pytest.mark.parametrize(
    ("scope", "partition"),
    [("model:deepseek-v4-flash", 3), ("tenant:acme", 0), ("user:acme/u1", 7), ("global", 3), ("tenant:租户", 0)],
)
def test_a_scope_keeps_its_partition(scope: str, partition: int) -> None:
    """Other versions have written there: the numbers may never change."""
    assert facts_partition(scope, 8) == partition
    assert facts_partition(scope, 1) == 0


@pytest.mark.embedded
async def test_missing_topics_are_created_with_their_settings(
    broker: str, prefix: str, admin: AIOKafkaAdminClient
) -> None:
    """Retention and compaction are set where the topic is made; a second call changes nothing."""
    assert await ensure_topics(broker, prefix, 3) == 3
    assert await ensure_topics(broker, prefix, 5) == 3
    topics = Topics(prefix)
    assert await counts(admin, prefix) == dict.fromkeys(topics.configs, 3)
    assert await config(admin, topics.usage) == {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "message.timestamp.type": "LogAppendTime",
    }
    assert (await config(admin, topics.decisions))["retention.ms"] == "34560000000"
    assert await config(admin, topics.facts) == {"cleanup.policy": "compact"}


@pytest.mark.embedded
async def test_an_existing_usage_topic_decides(broker: str, prefix: str, admin: AIOKafkaAdminClient) -> None:
    """Its number of partitions is everybody's, whatever it is."""
    await admin.create_topics([NewTopic(f"{prefix}.usage", 1, 1)])
    assert await ensure_topics(broker, prefix) == 1
    assert set((await counts(admin, prefix)).values()) == {1}


@pytest.mark.embedded
async def test_topics_that_do_not_fit_are_named(broker: str, prefix: str, admin: AIOKafkaAdminClient) -> None:
    """A topic with another number of partitions cannot be used: the message says which, and what is needed."""
    await admin.create_topics([NewTopic(f"{prefix}.facts", 5, 1)])
    with pytest.raises(TopicError, match=rf"as many partitions as {prefix}.usage \(2\), but {prefix}.facts has 5"):
        await ensure_topics(broker, prefix, 2)


@pytest.mark.embedded
async def test_many_may_start_at_once(broker: str, prefix: str, admin: AIOKafkaAdminClient) -> None:
    """Whoever is first decides; all get the same answer and nobody fails."""
    answers = await asyncio.gather(*(ensure_topics(broker, prefix, count) for count in (2, 3, 4, 2, 3, 4)))
    assert len(set(answers)) == 1
    assert set((await counts(admin, prefix)).values()) == set(answers)


@pytest.mark.embedded
async def test_changelogs(broker: str, prefix: str, admin: AIOKafkaAdminClient) -> None:
    """Compacted, with their sources' number of partitions, and never without their sources."""
    await ensure_topics(broker, prefix, 2)
    name = f"{prefix}-meter-changelog"
    await ensure_changelogs(broker, [name], 2, [f"{prefix}.usage"])
    assert (await config(admin, name))["cleanup.policy"] == "compact"
    with pytest.raises(TopicError, match=f"{prefix}.nowhere has 0"):
        await ensure_changelogs(broker, [name], 2, [f"{prefix}.nowhere"])
    with pytest.raises(TopicError, match=f"{name} has 2"):
        await ensure_changelogs(broker, [name], 3)


@pytest.mark.embedded
async def test_the_embedded_broker_is_recognised(broker: str) -> None:
    """It wants shorter sessions and shorter waits."""
    assert await detect_timing(broker) == TANSU


async def test_no_broker_is_said_so() -> None:
    """Whatever the client library raises, the operator reads where nobody answers."""
    nobody = f"127.0.0.1:{free_port()}"
    with pytest.raises(BrokerUnavailable, match=f"no Kafka broker answers at {nobody}"):
        await ensure_topics(nobody, "blastdoor")


async def test_a_silent_broker_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something that takes connections and never answers is no broker either."""
    monkeypatch.setattr(module, "CONNECT_SECONDS", 0.2)
    silent = await asyncio.start_server(lambda *_: asyncio.sleep(60), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    with pytest.raises(BrokerUnavailable, match="no Kafka broker answers"):
        await ensure_topics(f"127.0.0.1:{port}", "blastdoor")
    silent.close()
