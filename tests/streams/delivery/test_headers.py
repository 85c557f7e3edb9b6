"""Headers of what a step sends."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.delivery.send import Sender
from streams.delivery.step import Output
from streams.kafka import connection

pytestmark = pytest.mark.embedded

HEADERS = (("one", b"1"), ("two", b"\x00\xff"))


async def topic_on(kafka: str) -> str:
    name = f"headers-{uuid4().hex}"
    admin = AIOKafkaAdminClient(**connection(kafka))
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 1, 1)])
    finally:
        await admin.close()
    return name


async def sent(kafka: str, topic: str, outputs: list[Output]) -> list[Any]:
    """The records as they arrive."""
    sender = Sender(kafka)
    await sender.start()
    await sender.send(outputs)
    await sender.stop()
    consumer = AIOKafkaConsumer(**connection(kafka), auto_offset_reset="earliest", fetch_max_wait_ms=20)
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    await consumer.seek_to_beginning()
    found = [await consumer.getone() for _ in outputs]
    await consumer.stop()
    return found


@pytest.mark.parametrize("partition", [0, None])
@pytest.mark.parametrize("count", [1, 100])
async def test_headers_arrive(broker: str, partition: int | None, count: int) -> None:
    """Alone and in a batch, to a partition and by key; a record without any has none."""
    topic = await topic_on(broker)
    outputs = [
        Output(topic, partition, b"%d" % number, b"value", HEADERS if number % 2 else ()) for number in range(count + 1)
    ]
    arrived = await sent(broker, topic, outputs)
    assert {record.key: tuple(record.headers) for record in arrived} == {each.key: each.headers for each in outputs}
