"""Fills a usage topic before anything reads it: what is measured afterwards is reading alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer

from bench.workloads import EVENTS_A_SECOND, Workload
from rules.intake.wire import encode
from rules.moment import MINUTE, Millis
from rules.records import Reading
from streams.topics import Topics, ensure_topics

PARTITIONS = 8
BATCH = 1_000  # records a batch: what producers of a busy gateway send
AVAILABLE = 50_000_000_000  # tokens: no limit is reached while something is measured


@dataclass(frozen=True, slots=True)
class Log:
    """A filled usage topic."""

    topics: Topics
    events: int
    tokens: int  # of all distinct events
    end: Millis  # the time of the last event


async def fill(kafka: str, prefix: str, workload: Workload, events: int) -> Log:
    """Put events of the last minutes into a fresh topic, and readings of every model beside them."""
    topics = Topics(prefix)
    await ensure_topics(kafka, prefix, PARTITIONS)
    end = time.time_ns() // 1_000_000
    begin = end - events * 1000 // EVENTS_A_SECOND
    async with AIOKafkaProducer(bootstrap_servers=kafka, max_batch_size=1 << 20, max_request_size=1 << 21) as producer:
        await _read_balances(producer, topics, workload, begin, end)
        sent: list[asyncio.Future[object]] = []
        for chunk in range(0, events, BATCH * PARTITIONS):
            numbers = range(chunk, min(chunk + BATCH * PARTITIONS, events))
            sent += [await _send(producer, topics.usage, each, workload, numbers, begin) for each in range(PARTITIONS)]
            if len(sent) >= 8 * PARTITIONS:
                await asyncio.gather(*sent)
                sent.clear()
        await asyncio.gather(*sent)
    distinct = (number for number in range(events) if workload.original(number) == number)
    return Log(topics, events, sum(map(workload.tokens, distinct)), end)


async def _send(
    producer: AIOKafkaProducer, topic: str, partition: int, workload: Workload, numbers: range, begin: Millis
) -> asyncio.Future[object]:
    """One batch: those of `numbers` that belong to the partition."""
    batch = producer.create_batch()
    for place in numbers[partition::PARTITIONS]:
        number = workload.original(place)
        key, value = workload.event(number, begin + number * 1000 // EVENTS_A_SECOND)
        batch.append(key=key, value=value, timestamp=begin + place * 1000 // EVENTS_A_SECOND)
    batch.close()
    future: asyncio.Future[object] = await producer.send_batch(batch, topic, partition=partition)
    return future


async def _read_balances(
    producer: AIOKafkaProducer, topics: Topics, workload: Workload, begin: Millis, end: Millis
) -> None:
    for at in _times(begin, end):
        for model in range(workload.models):
            name = f"model-{model:02d}"
            reading = Reading(id=f"bal-{name}-{at}", at=at, model=name, available=AVAILABLE)
            await producer.send(topics.balances, encode(reading), key=name.encode(), timestamp_ms=at)
    await producer.flush()


def _times(begin: Millis, end: Millis) -> Iterator[Millis]:
    """Once a minute, and near the end."""
    yield from range(begin, end, MINUTE)
    yield end - 1
