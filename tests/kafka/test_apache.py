"""Apache Kafka itself, as later tests lean on it."""

from __future__ import annotations

import uuid

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

pytestmark = pytest.mark.kafka


async def test_what_is_produced_is_consumed_in_order(apache_kafka: str) -> None:
    """A record that was acknowledged is read back, in the order of its partition."""
    topic = f"smoke-{uuid.uuid4().hex}"
    async with AIOKafkaAdmin(apache_kafka) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])
    async with AIOKafkaProducer(bootstrap_servers=apache_kafka) as producer:
        for number in range(3):
            await producer.send_and_wait(topic, str(number).encode())
    async with AIOKafkaConsumer(topic, bootstrap_servers=apache_kafka, auto_offset_reset="earliest") as consumer:
        assert [(await consumer.getone()).value for _ in range(3)] == [b"0", b"1", b"2"]


async def test_a_topic_can_be_compacted(apache_kafka: str) -> None:
    """The broker takes `cleanup.policy=compact` and says so when asked."""
    topic = f"compact-{uuid.uuid4().hex}"
    async with AIOKafkaAdmin(apache_kafka) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"cleanup.policy": "compact"})])
        (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    settings = {entry[0]: entry[1] for resource in answer.resources for entry in resource[4]}
    assert settings["cleanup.policy"] == "compact"


class AIOKafkaAdmin:
    """aiokafka's admin client as a context manager."""

    def __init__(self, address: str) -> None:
        self.client = AIOKafkaAdminClient(bootstrap_servers=address)

    async def __aenter__(self) -> AIOKafkaAdminClient:
        await self.client.start()
        return self.client

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
