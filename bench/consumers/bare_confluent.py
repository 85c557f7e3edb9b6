"""The same loop over librdkafka: how far Python could go with another client."""

from __future__ import annotations

import sys
from collections import Counter

import msgspec
from confluent_kafka import Consumer, TopicPartition

from bench.consumers.measure import Stopwatch

# As it comes, librdkafka pauses for a second whenever 100,000 records wait, and a loop as short as this one starves.
HASTE = {"fetch.queue.backoff.ms": 5}


class Call(msgspec.Struct):
    """What is summed."""

    model: str
    total_tokens: int


def main(kafka: str, topic: str, partitions: int, wanted: int) -> None:
    decode, sums, watch = msgspec.json.Decoder(Call).decode, Counter[str](), Stopwatch(wanted)
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "bare", "auto.offset.reset": "earliest", **HASTE})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    enough = False
    while not enough:
        messages = consumer.consume(5_000, timeout=1.0)
        for message in messages:
            call = decode(message.value())
            sums[call.model] += call.total_tokens
        enough = bool(messages) and watch.take(len(messages))
    watch.report()
    consumer.close()


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
