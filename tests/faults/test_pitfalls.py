"""Nine ways in which stock Faust agents and tables lose or double, each beside our delivery under the same blow.

Every topic gets twenty records (P8 two). Stock and ours are told the same story: a mistake, a changelog out of reach,
a kill before the commit, a topic made anew, a second worker. What is compared is what is counted in the end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from operator import gt, lt
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import faust
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from faust.types import TP

from tests.faults.site import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(600)]

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
EACH = 20
EVENTS = [str(number).encode() for number in range(EACH)]
TOPICS = [*(f"p{number}" for number in range(1, 10)), "die"]


@dataclass
class Life:
    """A worker process and what it has printed."""

    process: subprocess.Popen[bytes]
    output: Path

    def lines(self, *first: str) -> list[list[str]]:
        found = [line.split() for line in self.output.read_text().splitlines()]
        return [words for words in found if words[: len(first)] == list(first)]

    async def wait_for(self, count: int, *first: str) -> None:
        async def there() -> bool:
            over = self.process.poll() is not None
            found = len(self.lines(*first)) >= count
            assert found or not over, self.output.read_text()[-4000:]
            return found

        await eventually(there, f"{count} × {first}", lambda: self.output.read_text()[-4000:])

    async def ended(self) -> int:
        async def over() -> bool:
            return self.process.poll() is not None

        await eventually(over, "the end of the process", lambda: self.output.read_text()[-4000:])
        return self.process.returncode


@dataclass
class Tale:
    """One program through all of its lives."""

    program: str
    kafka: str
    directory: Path
    lives: list[Life] = field(default_factory=list)

    @property
    def group(self) -> str:
        return f"pitfalls-{self.program}"

    def live(self) -> Life:
        """Start the next worker."""
        number = len(self.lives) + 1
        output = self.directory / f"{self.program}-{number}.txt"
        argv = [sys.executable, str(HERE / f"{self.program}.py"), self.kafka, self.group, str(number)]
        with output.open("wb") as file:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "gateway")])}
            process = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT, env=environment)
        self.lives.append(Life(process, output))
        return self.lives[-1]

    async def create(self, *names: str) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
        await admin.start()
        await admin.create_topics([NewTopic(f"{self.group}-{name}", 2, 1) for name in names])
        await admin.close()

    async def create_anew(self, name: str) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka)
        await admin.start()
        await admin.delete_topics([f"{self.group}-{name}"])
        await admin.close()
        await self.create(name)

    async def send(self, *names: str, values: list[bytes] | None = None, partition: int = 0) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.kafka) as producer:
            for name in names:
                for value in values or EVENTS:
                    await producer.send_and_wait(f"{self.group}-{name}", value, partition=partition)

    async def count(self, name: str) -> int:
        """What the worker that has partition 0 of a topic has counted."""
        before = [len(life.lines("state", name)) for life in self.lives]
        await self.send(name, values=[b"end"])

        async def told() -> bool:
            return [len(life.lines("state", name)) for life in self.lives] != before

        await eventually(told, f"the state of {name}", lambda: self.lives[-1].output.read_text()[-4000:])
        for life, known in zip(self.lives, before, strict=True):
            if len(life.lines("state", name)) > known:
                return int(life.lines("state", name)[-1][-1])
        raise AssertionError


async def feed(tale: Tale, life: Life, *names: str) -> None:
    """Twenty records each, all handled; of P7 in one partition after the other."""
    for name in names:
        await tale.send(name, values=EVENTS[:2] if name == "p8" else EVENTS)
        if name == "p7":
            await life.wait_for(EACH, "handled", name)
            await tale.send(name, partition=1)
    for name in names:
        lines = {"p2": 1 if tale.program == "stock" else EACH, "p7": 2 * EACH, "p8": 2}
        await life.wait_for(lines.get(name, EACH), "handled", name)


async def die(tale: Tale, life: Life) -> None:
    """It commits what the story wants committed, and kills itself."""
    await tale.send("die", values=[str(len(tale.lives)).encode()])
    await life.ended()


async def tell_stock(kafka: str, directory: Path) -> dict[str, int]:
    """The story with stock Faust."""
    tale = Tale("stock", kafka, directory)
    await tale.create(*TOPICS)
    try:
        life = tale.live()
        await feed(tale, life, "p1", "p2", "p8")  # an agent's error commits whatever is acknowledged by then
        await die(tale, life)
        life = tale.live()
        await feed(tale, life, "p3", "p6", "p7")
        await feed(tale, life, "p5")
        await die(tale, life)
        await tale.create_anew("p6")
        await tale.send("p6")
        life = tale.live()
        await life.wait_for(EACH, "handled", "p3")
        await life.wait_for(EACH, "handled", "p6")
        counted = {
            name: await tale.count(name) for name in TOPICS if name in {"p1", "p2", "p3", "p5", "p6", "p7", "p8"}
        }
        await feed(tale, life, "p4")
        life = tale.live()
        await life.wait_for(1, "started")

        async def replayed() -> bool:
            return sum(len(each.lines("handled", "p4")) for each in tale.lives) >= 2 * EACH

        await eventually(replayed, "P4 again", lambda: life.output.read_text()[-4000:])
        return counted | {"p4": await tale.count("p4")}
    finally:
        for life in tale.lives:
            life.process.kill()
            life.process.wait()


async def tell_ours(kafka: str, directory: Path) -> dict[str, int]:
    """The story with our delivery."""
    tale = Tale("ours", kafka, directory)
    await tale.create(*TOPICS)
    try:
        first = tale.live()
        await feed(tale, first, "p2", "p3", "p6", "p7", "p8", "p9")
        await feed(tale, first, "p5")
        first.process.send_signal(signal.SIGKILL)
        await first.ended()
        await tale.create_anew("p6")
        await tale.send("p6")
        second = tale.live()
        await second.wait_for(EACH, "handled", "p6")
        await feed(tale, second, "p4")
        await tale.send("p1")
        assert await second.ended() == 1
        third = tale.live()
        await third.wait_for(1, "rebalanced")
        counted = {name: await tale.count(name) for name in TOPICS[:-1] if name != "p4"}
        fourth = tale.live()
        await fourth.wait_for(1, "rebalanced")
        return counted | {"p4": await tale.count("p4")}
    finally:
        for life in tale.lives:
            life.process.kill()
            life.process.wait()


@pytest.fixture(scope="module")
def counted(broker: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """What each has counted in the end."""

    async def both() -> list[dict[str, int]]:
        directory = tmp_path_factory.mktemp("pitfalls")
        return await asyncio.gather(tell_stock(broker, directory), tell_ours(broker, directory))

    return dict(zip(("stock", "ours"), asyncio.run(both()), strict=True))


@pytest.mark.parametrize(
    ("pitfall", "wrong", "right"),
    [
        pytest.param("p1", lt, EACH, id="an exception in an agent loses its record"),
        pytest.param("p2", lt, EACH, id="a table cannot be written within take, and the batch is acknowledged"),
        pytest.param("p3", gt, EACH, id="a kill before the commit doubles what the changelog has already"),
        pytest.param("p4", gt, EACH, id="so does an ordinary rebalance"),
        pytest.param("p5", lt, EACH, id="a commit does not wait for the changelog"),
        pytest.param("p6", lt, 2 * EACH, id="offsets in rows outlive their log"),
        pytest.param("p7", lt, 2 * EACH, id="offsets of two partitions are compared"),
        pytest.param("p8", lt, 2, id="a Redis that is away loses what waits for it"),
    ],
)
def test_pitfall(
    counted: dict[str, dict[str, int]], pitfall: str, wrong: Callable[[int, int], bool], right: int
) -> None:
    """Stock Faust loses or doubles; ours counts every record once."""
    assert wrong(counted["stock"][pitfall], right)
    assert counted["ours"][pitfall] == right


def test_a_row_deleted_and_set_to_nothing(counted: dict[str, dict[str, int]]) -> None:
    """Stock Faust forgets it where both stand in one batch of the changelog; ours takes up all twenty."""
    table = faust.App("pitfall", broker="kafka://unused", store="memory://").Table("p9", partitions=1)
    name = table.changelog_topic_name
    table.apply_changelog_batch(
        [
            SimpleNamespace(
                key="k",
                value=value,
                message=SimpleNamespace(key=b"k", value=raw, offset=offset, partition=0, tp=TP(name, 0)),
            )
            for offset, (value, raw) in enumerate([(1, b"1"), (None, None), (0, b"0")])
        ]
    )
    assert "k" not in table
    assert counted["ours"]["p9"] == EACH
