"""The measure of all: aiokafka's `getmany`, msgspec for two fields, a sum per model. No group, no state, no commit."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.consumers.measure import Stopwatch


class Call(msgspec.Struct):
    """What is summed."""

    model: str
    total_tokens: int


async def main(kafka: str, topic: str, partitions: int, wanted: int) -> None:
    decode, sums, watch = msgspec.json.Decoder(Call).decode, Counter[str](), Stopwatch(wanted)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([TopicPartition(topic, partition) for partition in range(partitions)])
    enough = False
    while not enough:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            for record in records:
                call = decode(record.value)
                sums[call.model] += call.total_tokens
            enough = watch.take(len(records))
    watch.report()
    await consumer.stop()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
