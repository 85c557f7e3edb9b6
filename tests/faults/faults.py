"""What may happen to a site. Each fault leaves it as it was: the same number of workers, everything running."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from streams.delivery.log import ends
from streams.topics import admin_client
from tests.faults.site import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.faults.site import Site, Worker

SLOW = 8.0


async def kill(site: Site) -> float:
    """kill -9 of a worker; how long until every partition is in hands again."""
    worker = _one_of(site)
    before, began = worker.pid, time.monotonic()
    site.signal(worker, signal.SIGKILL)

    async def gone() -> bool:
        return worker.supervisor.pid != before

    await eventually(gone, "the worker to be gone")
    await site.settled()
    return time.monotonic() - began


async def zombie(site: Site) -> float:
    """A worker stopped for longer than its session wakes up when others have its partitions."""
    return await _absent(site, signal.SIGSTOP, signal.SIGCONT)


async def block(site: Site) -> float:
    """The same where its event loops are blocked and not the process: it wakes up in the middle of a call, and is told
    by each of its requests that the group does not know it."""
    return await _absent(site, signal.SIGUSR1, signal.SIGUSR2)


async def join_and_leave(site: Site) -> float:
    """One more worker takes its share, and leaves in order."""
    worker = site.add_worker()
    await site.settled()
    await site.remove_worker(worker)
    return await _until_settled(site)


async def leave_and_join(site: Site) -> float:
    """A worker leaves in order, as for an upgrade, and another takes its place."""
    await site.remove_worker(_one_of(site))
    site.add_worker()
    return await _until_settled(site)


async def redis_restart(site: Site) -> float:
    """Redis is away for a second and comes back with nothing in it."""
    site.redis.stop()
    await asyncio.sleep(1)
    site.redis.start()
    return 1.0


async def redis_flush(site: Site) -> float:
    """Somebody empties Redis."""
    with site.redis.client() as client:
        client.flushall()
    return 0.0


async def redis_slow(site: Site) -> float:
    """Every answer of Redis takes eight seconds."""
    site.redis.freeze()
    try:
        await asyncio.sleep(SLOW)
    finally:
        site.redis.thaw()
    return SLOW


async def broker_freeze(site: Site) -> float:
    """The broker answers nothing for a while."""
    await asyncio.to_thread(site.broker.freeze, site.broker.session / 2)
    return await _until_settled(site)


async def broker_restart(site: Site) -> float:
    """The broker stops and starts again, with its log."""
    await asyncio.to_thread(site.broker.restart)
    return await _until_settled(site)


async def retention(site: Site) -> None:
    """All usage leaves the log, once it is counted and stored. What is looked for among duplicates is gone with it."""

    async def stored() -> bool:
        return sum([await worker.lag() for worker in site.workers]) == 0

    await eventually(stored, "all that was counted to be stored", site.last_words)
    tps = [TopicPartition(site.topics.usage, number) for number in range(site.partitions)]
    counted = await ends(site.kafka, tps)
    async with admin_client(site.kafka) as admin:
        await admin.delete_records({tp: RecordsToDelete(before_offset=end) for tp, end in counted.items() if end})
    site.load.forget()


async def dead_letters(site: Site) -> float:
    """A thousand records that nobody can read."""
    await site.load.send_unreadable(1_000)
    return 0.0


REBALANCING = (kill, zombie, block, join_and_leave, leave_and_join)
ANY_BROKER = (*REBALANCING, redis_restart, redis_flush, redis_slow, dead_letters)
KEEPS_LOG = (*ANY_BROKER, broker_freeze, broker_restart)


def possible(site: Site) -> tuple[Callable[[Site], Awaitable[float]], ...]:
    """The faults that a site can live through."""
    return KEEPS_LOG if site.broker.keeps_its_log else ANY_BROKER


async def _absent(site: Site, begin: signal.Signals, end: signal.Signals) -> float:
    """From one signal to the other. A worker whose loop stands still may end before."""
    worker = _one_of(site)
    before, others = worker.pid, [other for other in site.workers if other is not worker]
    site.zombies += 1
    site.signal(worker, begin)
    try:
        if others:

            async def inherited() -> bool:
                ended = worker.supervisor.pid != before
                return ended or sum([await other.partitions() for other in others]) == site.partitions

            await eventually(inherited, "the others to take over", site.last_words)
        else:
            await asyncio.sleep(site.broker.session * 1.5)
    finally:
        if worker.supervisor.pid == before:
            site.signal(worker, end)
    return await _until_settled(site)


def _one_of(site: Site) -> Worker:
    return site.chance.choice(site.workers)


async def _until_settled(site: Site) -> float:
    began = time.monotonic()
    await site.settled()
    return time.monotonic() - began
