"""A whole site: broker, Redis, workers as processes under supervision, a receiver of alerts, and load."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sys
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import aiohttp
from aiokafka import AIOKafkaProducer
from blastdoor_gateway.contract import Keys

from streams.channels.receiver import WEBHOOK, Receiver
from streams.embedded.redis_server import find_binary
from streams.embedded.server import HOST, free_port
from streams.supervisor import Backoff, Death, Supervisor
from streams.topics import Topics, ensure_topics
from tests.faults.load import LIMITED, Load
from tests.streams.publish.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from tests.faults.brokers import Broker

POOL = 40_000
PATIENCE = 120.0  # for what another process does, on a machine busy with other things
HOURS = 24
SOON = Backoff(first=0.2, most=1.0)
WORKER = ("tests.faults.blockable", "worker")


@dataclass
class Worker:
    """One worker process after the other, at one address."""

    http: str
    supervisor: Supervisor
    life: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self.life = asyncio.create_task(self.supervisor.run())

    @property
    def pid(self) -> int:
        assert self.supervisor.pid is not None
        return self.supervisor.pid

    async def page(self, path: str) -> str | None:
        """What it says at a path; None while it says nothing good."""
        with suppress(aiohttp.ClientError, TimeoutError, OSError):
            timeout = aiohttp.ClientTimeout(total=5)
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"http://{self.http}{path}") as got,
            ):
                return await got.text() if got.status == 200 else None
        return None

    async def partitions(self) -> int:
        """How many partitions of usage it meters, once it is ready."""
        if await self.page("/ready") is None:
            return 0
        found = re.search(
            r'^blastdoor_partitions\{step="meter"\} (\S+)$', await self.page("/metrics") or "", re.MULTILINE
        )
        return int(float(found[1])) if found else 0

    async def lag(self) -> float:
        """Records of usage beyond what is safely stored."""
        await self.page("/ready")  # which has them looked up
        page = await self.page("/metrics") or ""
        return sum(
            float(lag) for lag in re.findall(r'^blastdoor_lag_records\{.*step="meter"\} (\S+)$', page, re.MULTILINE)
        )


class Site:
    """Made by `site`. Every worker has the same options, and none of them says how many there are."""

    def __init__(
        self, broker: Broker, directory: Path, receiver: Receiver, chance: random.Random, command: Sequence[str]
    ) -> None:
        self.broker = broker
        self.command = command
        self.kafka = broker.address
        self.directory = directory
        self.receiver = receiver
        self.chance = chance
        self.topics = Topics("blastdoor")
        self.keys = Keys("blastdoor", "")
        self.redis = RedisServer(str(find_binary()), directory)
        self.workers: list[Worker] = []
        self.deaths: list[Death] = []
        self.zombies = 0
        self.pool = POOL
        self.partitions = 0
        self.load = Load(self.kafka, self.topics.usage, chance, f"call-{os.getpid()}")
        self._started = 0

    def add_worker(self) -> Worker:
        """One more, which finds its place by itself."""
        self._started += 1
        name, http = f"worker-{self._started}", f"{HOST}:{free_port()}"
        where = ["--kafka", self.kafka, "--redis", self.redis.url, "--http", http]
        argv = [sys.executable, "-m", *self.command, *where, "--policy", str(self.directory / "policy.json")]
        log = self.directory / f"{name}.log"
        worker = Worker(http, Supervisor(name, argv, backoff=SOON, log=log, on_death=self.deaths.append))
        self.workers.append(worker)
        return worker

    async def remove_worker(self, worker: Worker) -> None:
        """SIGTERM, and wait."""
        self.workers.remove(worker)
        await worker.supervisor.stop(patience=PATIENCE)
        await worker.life

    async def shares(self) -> list[int]:
        """Partitions of usage by worker."""
        return list(await asyncio.gather(*(worker.partitions() for worker in self.workers)))

    async def settled(self) -> None:
        """Wait until every worker is ready with partitions, and every partition is in one's hands."""

        async def whole() -> bool:
            shares = await self.shares()
            return all(shares) and sum(shares) == self.partitions

        await eventually(whole, f"{len(self.workers)} workers with all {self.partitions} partitions", self.last_words)

    async def shared(self, *wanted: int) -> None:
        """Wait until the workers share the partitions like this."""

        async def alike() -> bool:
            return sorted(await self.shares()) == sorted(wanted)

        await eventually(alike, f"shares {wanted}", self.last_words)

    def last_words(self) -> str:
        """Of every worker, for who must find out what went wrong."""
        return "\n".join(f"{worker.supervisor.name}: {worker.supervisor.last_words()}" for worker in self.workers)

    def missed(self) -> set[str]:
        """What workers have said of modules that they could not import."""
        logs = [log.read_text() for log in self.directory.glob("worker-*.log")]
        return {line for log in logs for line in log.splitlines() if "ModuleNotFoundError" in line}

    async def calibrate(self) -> None:
        """An operator says how large the pool of the limited model is: from now on it has a limit."""
        day = datetime.now(UTC).astimezone(_zone()).date().isoformat()
        told = {"type": "calibration", "id": "c1", "ts": time.time(), "model": LIMITED, "day": day, "pool": POOL}
        async with AIOKafkaProducer(bootstrap_servers=self.kafka) as producer:
            value = json.dumps(told | {"force": True, "by": "operator"}).encode()
            await producer.send_and_wait(self.topics.balances, value)

    def write_policy(self) -> None:
        """In a zone in which the day began some hours ago, so that none ends while we look."""
        channel = self.receiver.channel(WEBHOOK)
        for name, secret in (("url", channel.url), ("secret", channel.secret)):
            (self.directory / f"hook.{name}").write_text(secret)
        hook = {"kind": WEBHOOK, "url": "file:hook.url", "secret": "file:hook.secret"}
        policy = {
            "timezone": _zone_name(),
            "models": {LIMITED: {"small_buffer": 0}},
            "alerts": {"send": ["hook"], "group": "0s"},
            "channels": {"hook": hook},
        }
        (self.directory / "policy.json").write_text(json.dumps(policy))

    def signal(self, worker: Worker, number: signal.Signals) -> None:
        os.kill(worker.pid, number)


def _zone_name() -> str:
    ahead = (6 - datetime.now(UTC).hour + 11) % HOURS - 11
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/UTC"


def _zone() -> ZoneInfo:
    return ZoneInfo(_zone_name())


async def eventually(
    holds: Callable[[], object], what: str, words: Callable[[], str] = str, patience: float = PATIENCE
) -> None:
    """Wait for what other processes do."""
    deadline = time.monotonic() + patience
    while not await holds():  # type: ignore[misc]
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}\n{words()}"
        await asyncio.sleep(0.1)


@asynccontextmanager
async def site(
    broker: type[Broker], directory: Path, *, workers: int, seed: int, command: Sequence[str] = WORKER
) -> AsyncIterator[Site]:
    """A running site. `command`: the module that workers are run from, and what it is told. Whatever is still running
    at the end is ended."""
    standing: Broker = broker(directory)  # type: ignore[call-arg]
    async with Receiver() as receiver:
        here = Site(standing, directory, receiver, random.Random(seed), command)
        try:
            here.redis.start()
            here.write_policy()
            here.partitions = await ensure_topics(here.kafka, here.topics.prefix)
            for _ in range(workers):
                here.add_worker()
            yield here
        finally:
            for worker in list(here.workers):
                worker.supervisor.kill()
                worker.life.cancel()
            await asyncio.gather(*(worker.life for worker in here.workers), return_exceptions=True)
            here.redis.stop()
            standing.stop()
