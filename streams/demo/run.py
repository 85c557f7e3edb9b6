"""The whole demo: parts up, recordings through, everything compared, parts down.

recordings ──> Kafka ──> worker ──> decisions on Kafka ──> witness ─┐
    └──> replay in this process ────────────────────────────────────┴─> the same, or the demo fails
                         worker ──> Redis ──> a v6 gate
                         worker ──> receiver: a Feishu bot and a webhook
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from streams.channels.receiver import Receiver
from streams.demo.findings import Findings, expect
from streams.demo.performance import LateError, Performance
from streams.demo.policy import policy_file
from streams.demo.recordings import Recordings
from streams.demo.shipping import Pace
from streams.demo.show import Show
from streams.demo.together import unless
from streams.embedded.stack import Plan, Stack, running
from streams.policy_file import default_rulebook, load_policy
from streams.settings import Settings
from streams.ship.outbox import NotDelivered
from streams.supervisor import Death
from streams.topics import BrokerUnavailable, TopicError

POLL_SECONDS = 0.1


class DemoFailed(Exception):  # noqa: N818  says what happened
    """With the last words of the part that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`language`: of the alerts. `log_dir`: where the output of the parts is kept, if anywhere."""

    pace: Pace
    language: str = "zh"
    log_dir: Path | None = None


async def perform(recordings: Recordings, options: Options, show: Show) -> Findings:
    """From nothing to the findings; whatever happens, nothing is left running.

    Raises DemoFailed, MissingPartError, DidNotStartError.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what matters of it is said by those who use it
    deaths: asyncio.Queue[Death] = asyncio.Queue()
    async with Receiver(heard=show.arrived) as receiver:
        with policy_file(receiver, options.language) as path:
            plan = Plan(policy=str(path), event_clock=True, log_dir=options.log_dir)
            show.stage("starting a broker, a Redis and a worker on 127.0.0.1")
            async with running(plan, deaths.put_nowait) as stack:
                show.stage(f"ready after {stack.seconds:.1f} s: Kafka at {stack.kafka}, {stack.redis}")
                doing = _run(recordings, options, show, receiver, path, stack)
                found = await unless(doing, _first_death(deaths), _first_end(stack))
                show.stage("stopping worker, Redis and broker")
    return found


async def _run(
    recordings: Recordings, options: Options, show: Show, receiver: Receiver, path: Path, stack: Stack
) -> Findings:
    policy = load_policy(path)
    performance = Performance(
        recordings=recordings,
        expected=expect(recordings, policy, default_rulebook(policy)),
        policy=policy,
        settings=Settings(kafka=stack.kafka, redis=stack.redis).on_event_clock(),
        receiver=receiver,
        show=show,
        pace=options.pace,
    )
    try:
        return await performance.whole()
    except (LateError, NotDelivered, BrokerUnavailable, TopicError, KafkaError, RedisError) as problem:
        worker = stack.supervisors[0]
        raise DemoFailed(f"{problem}\n{worker.name} said last:\n{worker.last_words()}") from problem


async def _first_death(deaths: asyncio.Queue[Death]) -> None:
    """A worker that dies is started again and loses nothing; but in a demo it must not happen."""
    death = await deaths.get()
    raise DemoFailed(f"{death}; it said last:\n{death.last_words}")


async def _first_end(stack: Stack) -> None:
    """Broker and Redis are started once."""
    while True:
        for child in (server.child for server in stack.servers):
            if child.returncode is not None:
                raise DemoFailed(f"{child.name} ended with {child.returncode}; it said last:\n{child.tail()}")
        await asyncio.sleep(POLL_SECONDS)
