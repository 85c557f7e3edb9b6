"""Sends events at a steady rate with probes among them, and tells when each probe was sent.

python -m bench.traffic KAFKA PREFIX RATE FIRST_EVENT FIRST_PROBE PROBES FILE
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from aiokafka import AIOKafkaProducer

from bench.log import AVAILABLE, PARTITIONS
from bench.probes import A_SECOND, MODELS, model_of, probe
from bench.workloads import everything
from rules.intake.wire import encode
from rules.records import Reading
from streams.topics import Topics

SLOT = 0.01  # seconds: what falls due in it is sent together, a batch for each partition
READING_EVERY = 1.0  # seconds, of one model after the other


class Traffic:
    """One stretch of traffic."""

    def __init__(self, producer: AIOKafkaProducer, topics: Topics, rate: int, event: int) -> None:
        self._producer = producer
        self._topics = topics
        self._rate = rate
        self._first = self._event = event
        self._workload = everything()
        self._acks: set[asyncio.Future[object]] = set()
        self.sent: dict[int, float] = {}

    async def run(self, first: int, probes: int) -> None:
        """Slot by slot; a slot that comes late sends what has fallen due. Ends with the last probe."""
        began, readings = time.time(), 0
        while len(self.sent) < probes:
            passed = time.time() - began
            await self._events(self._first + int(passed * self._rate))
            while len(self.sent) < min(probes, passed * A_SECOND):
                await self._send_probe(first + len(self.sent))
            if passed >= readings * READING_EVERY:
                await self._read(readings)
                readings += 1
            await asyncio.sleep(SLOT - (time.time() - began) % SLOT)
        await asyncio.wait(self._acks)

    async def _events(self, until: int) -> None:
        numbers, now = range(self._event, until), int(time.time() * 1000)
        for partition in range(min(PARTITIONS, len(numbers))):
            batch = self._producer.create_batch()
            for place in numbers[partition::PARTITIONS]:
                key, value = self._workload.event(self._workload.original(place), now)
                batch.append(key=key, value=value, timestamp=now)
            batch.close()
            target = (self._event + partition) % PARTITIONS
            self._acks.add(await self._producer.send_batch(batch, self._topics.usage, partition=target))
        self._event = until

    async def _send_probe(self, number: int) -> None:
        now = self.sent[number] = time.time()
        key, value = probe(number, now)
        self._acks.add(await self._producer.send(self._topics.usage, value, key, number % PARTITIONS))

    async def _read(self, number: int) -> None:
        model = model_of(number) if number % 2 else f"model-{number // 2 % self._workload.models:02d}"
        now = int(time.time() * 1000)
        reading = Reading(id=f"bal-{number}-{now}", at=now, model=model, available=AVAILABLE)
        self._acks.add(await self._producer.send(self._topics.balances, encode(reading), model.encode()))


async def main(kafka: str, prefix: str, rate: int, event: int, first: int, probes: int, file: str) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka, max_batch_size=1 << 18)
    await producer.start()
    print("sending", flush=True)
    traffic = Traffic(producer, Topics(prefix), rate, event)
    await traffic.run(first, probes)
    await producer.stop()
    Path(file).write_text(json.dumps(traffic.sent))  # noqa: ASYNC240 - all is over


assert A_SECOND % MODELS == 0
rate, event, first, probes = map(int, sys.argv[3:7])
asyncio.run(main(sys.argv[1], sys.argv[2], rate, event, first, probes, sys.argv[7]))
