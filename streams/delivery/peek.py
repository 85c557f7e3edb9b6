"""Reading the rows of a step's table from the side, as its next owner would: for commands that show them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.delivery.log import PartitionLog, ends
from streams.delivery.rows import recover
from streams.kafka import connection
from streams.overheard import overheard
from streams.topics import CONNECT_SECONDS, BrokerUnavailable


async def rows(kafka: str, group: str, step: str) -> AsyncIterator[tuple[str, msgspec.Raw]]:
    """Every row of the step's table in the consumer group `group`, by name. Raises BrokerUnavailable.

    A flush under way may be missed; what an owner has written whole is all there.
    """
    changelog = f"{group}-{step}-changelog"
    try:
        partitions = [TopicPartition(changelog, number) for number in await _partitions(kafka, changelog)]
        for partition, end in (await ends(kafka, partitions)).items() if partitions else ():
            latest: dict[bytes, bytes] = {}
            async for batch in PartitionLog(kafka, partition).before(end, end):
                latest |= {record.key or b"": record.value or b"" for record in batch}
            found = recover({key: value for key, value in latest.items() if value})
            for row in found.values.items():
                yield row
    except (KafkaError, OSError) as error:
        msg = f"no Kafka broker answers at {kafka}"
        raise BrokerUnavailable(msg) from error


async def _start(consumer: AIOKafkaConsumer, kafka: str) -> None:
    with overheard() as talk:
        try:
            await consumer.start()
        except (KafkaError, OSError) as error:
            raise BrokerUnavailable(talk.about(f"no Kafka broker answers at {kafka}")) from error


async def _partitions(kafka: str, topic: str) -> list[int]:
    consumer = AIOKafkaConsumer(**connection(kafka), request_timeout_ms=int(CONNECT_SECONDS * 1000))
    try:
        await _start(consumer, kafka)
        return sorted(consumer.partitions_for_topic(topic) or ()) if topic in await consumer.topics() else []
    finally:
        await consumer.stop()
