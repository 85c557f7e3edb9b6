"""One poller process: a poller for each provider, metrics beside them, ended by a signal or by any error."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis

from rules.policy import Gateway, Policy
from rules.policy import Provider as ProviderSpec
from rules.polling import Pace
from rules.providers.answer import Answer, Failure, readings
from streams.api.server import serve
from streams.daily.source import DailySource
from streams.poll.lease import Lease
from streams.poll.metrics import PollMetrics
from streams.poll.poller import Desk, Poller
from streams.poll.provider import Provider
from streams.poll.sending import Sending
from streams.poll.sights import look
from streams.publish.client import open_redis
from streams.settings import Settings
from streams.ship.outbox import NotDelivered, open_outbox
from streams.ship.tally import Tally
from streams.topics import BrokerUnavailable, Topics, ensure_topics
from streams.wall_clock import wall_clock


class Asked(NamedTuple):
    """A provider as the policy describes it, and as it can be asked."""

    spec: ProviderSpec
    provider: Provider


class Job(NamedTuple):
    """Whom to ask, and where the parts are."""

    settings: Settings
    policy: Policy
    providers: Mapping[str, Asked]
    counting: tuple[Gateway, ...] = ()  # gateways whose usage stands in daily_usage counters


async def poll(job: Job) -> None:
    """Ask until SIGTERM or SIGINT. Raises NotDelivered, ListenError, TopicError."""
    async with _sending(job) as sending:
        redis, metrics = open_redis(job.settings.redis), PollMetrics()
        pollers = [_poller(job, name, redis, sending, metrics) for name in job.providers]
        runner = await serve(job.settings.http, metrics.registry, lambda: not any(each.stopped for each in pollers))
        try:
            sources = [_source(job, gateway, redis, sending) for gateway in job.counting]
            await _until_signal([*(each.run() for each in pollers), *(each.run() for each in sources)])
        finally:
            await runner.cleanup()
            await redis.aclose()


async def ask(job: Job) -> dict[str, Answer | Failure]:
    """Every provider once."""
    found: dict[str, Answer | Failure] = {}
    for name, asked in job.providers.items():
        try:
            found[name] = await asked.provider.ask()
        finally:
            await asked.provider.close()
    return found


async def send(job: Job, answers: Mapping[str, Answer | Failure]) -> None:
    """What came of it to Kafka. Raises NotDelivered, TopicError."""
    async with _sending(job) as sending:
        for name, answer in answers.items():
            if isinstance(answer, Answer):
                await sending.readings(readings(name, answer))


def _poller(job: Job, name: str, redis: Redis, sending: Sending, metrics: PollMetrics) -> Poller:
    spec, provider = job.providers[name]
    keys, prefix = Keys(job.settings.prefix), job.settings.prefix
    policy = job.policy
    desk = Desk(
        name=name,
        pace=Pace(every=spec.every, low=min(Pace().low, spec.every), least=spec.least),
        provider=provider,
        lease=Lease(redis, prefix, name, f"{socket.gethostname()}:{os.getpid()}"),
        models=frozenset(spec.packages),
        look=lambda models: look(redis, keys, map(policy.canonical, models)),
        send=sending.readings,
        stopped=sending.stopped,
        metrics=metrics,
        clock=wall_clock,
    )
    return Poller(desk)


def _source(job: Job, gateway: Gateway, redis: Redis, sending: Sending) -> DailySource:
    keys, prefix = Keys(job.settings.prefix), job.settings.prefix
    lease = Lease(redis, prefix, f"daily:{gateway.name}", f"{socket.gethostname()}:{os.getpid()}")
    return DailySource(redis, keys, gateway.name, gateway.hashes, sending.usage, lease, wall_clock)


@asynccontextmanager
async def _sending(job: Job) -> AsyncIterator[Sending]:
    settings = job.settings
    try:
        partitions = await ensure_topics(settings.kafka, settings.prefix)
    except BrokerUnavailable as error:
        raise NotDelivered(str(error)) from error
    async with open_outbox(settings.kafka, partitions, Tally()) as outbox:
        yield Sending(outbox, Topics(settings.prefix), job.policy.calendar(), wall_clock)


async def _until_signal(work: list[Coroutine[Any, Any, None]]) -> None:
    """Until a signal, or the first error, which is raised."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    waiting = asyncio.create_task(stop.wait())
    tasks = [asyncio.create_task(each) for each in work]
    done, _ = await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
    for task in (*tasks, waiting):
        task.cancel()
    await asyncio.wait([*tasks, waiting])
    for task in done:
        task.result()
