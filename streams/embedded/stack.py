"""Broker, Redis and workers together on free ports of 127.0.0.1: what `blastdoor up` and the demo start.

Stopped in the order worker, Redis, broker, so that nobody loses what it stands on; workers one after another
(see broker.py).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from streams.embedded import broker, redis_server
from streams.embedded.server import HOST, DidNotStartError, Server, free_port
from streams.supervisor import MISUSE, Death, Supervisor

WORKER = (sys.executable, "-m", "streams", "worker")
MOST_DEATHS = 3
"""A worker that dies this often before it was ever ready lacks something that waiting does not bring."""

POLL_SECONDS = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to start. `http`: the first worker's address, None is a free port. `log_dir`: where the output is kept."""

    workers: int = 1
    policy: str | None = None
    http: str | None = None
    prefix: str = "blastdoor"
    event_clock: bool = False
    log_dir: Path | None = None
    command: Sequence[str] = WORKER
    ready_within: float = 30.0

    def log(self, name: str) -> Path | None:
        return self.log_dir / f"{name}.log" if self.log_dir is not None else None

    def worker(self, kafka: str, redis: str, http: str) -> list[str]:
        """The command line of one worker."""
        clock = "event" if self.event_clock else "wall"
        policy = ["--policy", self.policy] if self.policy is not None else []
        where = ["--kafka", kafka, "--redis", redis, "--http", http]
        return [*self.command, *where, "--prefix", self.prefix, "--clock", clock, *policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Where the parts are, each worker having reported ready."""

    kafka: str
    redis: str
    http: tuple[str, ...]
    seconds: float
    servers: tuple[Server, ...]  # broker and Redis
    supervisors: tuple[Supervisor, ...]
    supervision: asyncio.Future[list[None]]

    async def finished(self) -> None:
        """Returns when every worker has ended by itself with 0. Cancelled, it leaves them to be stopped in order."""
        await asyncio.wait([self.supervision])


@asynccontextmanager
async def running(plan: Plan, on_death: Callable[[Death], None] | None = None) -> AsyncIterator[Stack]:
    """The parts, ready; stopped in order at the end, or at once when cancelled a second time.

    Raises MissingPartError, and DidNotStartError with the end of the part's output.
    """
    begun = time.monotonic()
    with ExitStack() as at_once:
        queue = broker.start(plan.log("broker"))
        at_once.callback(queue.child.kill)
        store = redis_server.start(plan.log("redis"))
        at_once.callback(store.child.kill)
        http = _addresses(plan)
        supervisors = _supervisors(plan, queue, store, http, on_death)
        for supervisor in supervisors:
            at_once.callback(supervisor.kill)
        supervision = asyncio.gather(*(supervisor.run() for supervisor in supervisors))
        try:
            await _all_ready(plan, http, supervisors, supervision)
            yield Stack(
                kafka=queue.address,
                redis=redis_server.url(store),
                http=http,
                seconds=time.monotonic() - begun,
                servers=(queue, store),
                supervisors=supervisors,
                supervision=supervision,
            )
        finally:
            await _stop(supervisors, supervision)
            store.child.stop()
            queue.child.stop()


def _addresses(plan: Plan) -> tuple[str, ...]:
    first = plan.http or f"{HOST}:{free_port()}"
    return (first, *(f"{HOST}:{free_port()}" for _ in range(plan.workers - 1)))


def _supervisors(
    plan: Plan, queue: Server, store: Server, http: Sequence[str], on_death: Callable[[Death], None] | None
) -> tuple[Supervisor, ...]:
    def supervisor(number: int, address: str) -> Supervisor:
        name = f"worker-{number}"
        argv = plan.worker(queue.address, redis_server.url(store), address)
        return Supervisor(name, argv, log=plan.log(name), on_death=on_death)

    return tuple(supervisor(number, address) for number, address in enumerate(http, start=1))


async def _all_ready(
    plan: Plan, http: Sequence[str], supervisors: Sequence[Supervisor], supervision: asyncio.Future[list[None]]
) -> None:
    """Returns when each worker has answered; raises as soon as that cannot happen any more."""
    deadline = time.monotonic() + plan.ready_within
    for supervisor, address in zip(supervisors, http, strict=True):
        while not await _is_ready(address):
            if supervision.done():
                supervision.result()
                raise DidNotStartError(f"{supervisor.name} ended before it was ready")
            if (death := supervisor.last_death) is not None and _hopeless(death, supervisor.deaths):
                raise DidNotStartError(f"{death}\n{death.last_words}")
            if time.monotonic() > deadline:
                raise DidNotStartError(_not_ready(plan, supervisor))
            await asyncio.sleep(POLL_SECONDS)


def _hopeless(death: Death, deaths: int) -> bool:
    return death.returncode == MISUSE or deaths >= MOST_DEATHS


def _not_ready(plan: Plan, supervisor: Supervisor) -> str:
    words = supervisor.last_words() or (supervisor.last_death.last_words if supervisor.last_death is not None else "")
    return f"{supervisor.name} was not ready within {plan.ready_within:g} s\n{words}".rstrip()


async def _is_ready(address: str) -> bool:
    """Asks `GET /ready`: 200 says that the worker has its partitions and its state."""
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(1):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET /ready HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n".encode())
            status = await reader.readline()
            writer.close()
    except (OSError, TimeoutError):
        return False
    return status.split(b" ")[1:2] == [b"200"]


async def _stop(supervisors: Sequence[Supervisor], supervision: asyncio.Future[list[None]]) -> None:
    for supervisor in supervisors:
        await supervisor.stop()
    await asyncio.gather(supervision, return_exceptions=True)
