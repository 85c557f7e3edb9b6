"""What the tests of the delivery do with a broker: make load, run workers as processes, and count apart from them."""

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
from streams.embedded.broker import answers, find_binary
from streams.embedded.server import HOST, free_port
from streams.topics import ensure_changelogs
from tests.kafka.apache import ApacheKafka

WORKER = Path(__file__).with_name("counting.py")
ROOT = Path(__file__).parents[3]

_numbers = itertools.count()


class ReplaceableBroker:
    """An embedded broker on a port that stays, so that another one, which knows nothing, can take its place."""

    def __init__(self) -> None:
        self.port = free_port()
        self.kafka = f"{HOST}:{self.port}"
        self.start()

    def start(self) -> None:
        url = f"tcp://{self.kafka}"
        storage = ["--storage-engine", "memory://tansu/", "--cluster-id", f"tansu-{next(_numbers)}"]
        command = [str(find_binary()), "broker", "--listener-url", url, "--advertised-listener-url", url, *storage]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self._answers():
            time.sleep(0.01)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), 1) as connection:
                return answers(connection)
        except OSError:
            return False


async def until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for something another process does."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - another process has no event to wait for
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"waited {seconds} s for {what}")


@dataclass
class Worker:
    """A process of counting.py."""

    process: subprocess.Popen[bytes]
    output: Path

    def text(self) -> str:
        return self.output.read_text()

    def lines(self, first: str) -> list[list[str]]:
        return [line.split() for line in self.text().splitlines() if line.startswith(first + " ")]

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

    kafka: str
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
        await ensure_changelogs(self.kafka, [self.changelog], self.partitions, [self.topic])

    async def recreate(self) -> None:
        """Another log under the same name."""
        async with self._admin() as admin:
            await admin.delete_topics([self.topic])
            await admin.create_topics([NewTopic(self.topic, self.partitions, 1)])

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()

    async def write_row(self, key: bytes, value: bytes) -> None:
        """Something on partition 2 of the changelog that no worker has written."""
        async with _producer(self.kafka) as producer:
            await producer.send_and_wait(self.changelog, value, key, partition=2)

    async def create_changelog(self, **config: str) -> None:
        """The changelog with settings of our own."""
        async with self._admin() as admin:
            await admin.delete_topics([self.changelog])
            await admin.create_topics([NewTopic(self.changelog, self.partitions, 1, topic_configs=config)])

    async def compacted(self) -> None:
        """Produce a little, which closes segments, until hardly more is left of the changelog than one row per key."""
        async with asyncio.timeout(30):
            records = await self.read_changelog()
            while len(records) > len({(each.partition, each.key) for each in records}) + 4 * self.partitions:
                await self.produce(self.partitions)
                await asyncio.sleep(0.2)
                records = await self.read_changelog()
        assert len(records) < sum(each.offset for each in {each.partition: each for each in records}.values()) / 2

    async def read_changelog(self) -> list[Any]:
        """Every record that is there."""
        return await read_all(self.kafka, self.changelog, self.partitions)

    def worker(self, misbehave: str = "") -> Worker:
        output = self.directory / f"{self.topic}-{len(self.workers)}.txt"
        command = [
            sys.executable,
            str(WORKER),
            self.kafka,
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
        async with _producer(self.kafka) as producer:
            await self._send(producer, count)

    @asynccontextmanager
    async def load(self, rate: int = 15_000) -> AsyncIterator[None]:
        """Produce so many records a second meanwhile."""
        enough = asyncio.Event()

        async def until_enough() -> None:
            async with _producer(self.kafka) as producer:
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

    async def busy_and_idle(self) -> tuple[Worker, Worker]:
        """Of two workers the one with partitions and the one without."""

        def idle() -> list[Worker]:
            return [worker for worker in self.workers if worker.lines("rebalanced")[-1:] == [["rebalanced", "0", "0"]]]

        await until(lambda: len(idle()) == 1, "a worker without partitions")
        return next(worker for worker in self.workers if worker not in idle()), idle()[0]

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
        for record in await self.read_changelog():
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
        for record in await read_all(self.kafka, f"{self.topic}.out", self.partitions):
            count, incarnation, position = map(int, record.value.split())
            latest[record.key] = max(latest.get(record.key, (-1, -1, -1)), (incarnation, position, count))
        total: Counter[str] = Counter()
        for key, (_, _, count) in latest.items():
            total[key.decode().partition("|")[2]] += count
        return total

    async def caught_up(self, seconds: float = 60.0) -> None:
        """Wait until the positions on the changelog are the ends of the topic."""
        tps = [TopicPartition(self.topic, partition) for partition in range(self.partitions)]
        wanted = list((await ends(self.kafka, tps)).values())
        async with asyncio.timeout(seconds):
            while [  # noqa: ASYNC110 - another process has no event to wait for
                found.place.position if found.place else 0 for found in await self.recovered()
            ] != wanted:
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


@pytest.fixture
def own_broker() -> Iterator[ReplaceableBroker]:
    """A broker that may be stopped."""
    broker = ReplaceableBroker()
    yield broker
    broker.stop()


@pytest.fixture
def make_scene(tmp_path: Path) -> Iterator[Callable[..., Scene]]:
    """Names for a topic and a group; workers still running are killed at the end."""
    scenes: list[Scene] = []

    def make(kafka: str, partitions: int = 4) -> Scene:
        scenes.append(Scene(kafka, tmp_path, f"scene{next(_numbers)}", partitions))
        return scenes[-1]

    yield make
    for worker in itertools.chain.from_iterable(scene.workers for scene in scenes):
        worker.process.kill()
        worker.process.wait()


@pytest.fixture
def new_scene(make_scene: Callable[..., Scene]) -> Callable[..., Awaitable[Scene]]:
    """Makes a fresh topic and group on a broker."""

    async def create(kafka: str, partitions: int = 4) -> Scene:
        scene = make_scene(kafka, partitions)
        await scene.create()
        return scene

    return create


@pytest.fixture(scope="session")
def quick_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An Apache Kafka that allows sessions as short as the workers here have."""
    kafka = ApacheKafka.start(tmp_path_factory.mktemp("quick-kafka"), {"group.min.session.timeout.ms": "500"})
    yield kafka.address
    kafka.stop()


BROKERS = [
    pytest.param("broker", marks=pytest.mark.embedded, id="embedded"),
    pytest.param("quick_kafka", marks=pytest.mark.kafka, id="kafka"),
]


@pytest.fixture(params=BROKERS)
async def any_scene(request: pytest.FixtureRequest, new_scene: Callable[..., Awaitable[Scene]]) -> Scene:
    """The same story on the embedded broker and on Apache Kafka."""
    return await new_scene(request.getfixturevalue(request.param))


@pytest.fixture
async def scene(broker: str, new_scene: Callable[..., Awaitable[Scene]]) -> Scene:
    """A fresh topic and group on the common broker."""
    return await new_scene(broker)
