"""A whole site, and whatever may happen to it: every total is the number of distinct ids that were sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults import faults
from tests.faults.audit import check
from tests.faults.brokers import BROKERS
from tests.faults.site import site

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(600)

RATE = 400
BARE = ("tests.faults.bare", "worker", "--traces", "on")


@pytest.mark.embedded
async def test_whatever_happens_to_workers_and_redis(tmp_path: Path, record_property: Any) -> None:
    """Three workers share eight partitions without being told to; killed, frozen, blocked, joined, left, without a
    Redis or with an emptied or slow one, amid dead letters, they count every call once and tell every alert once.
    Nothing that is optional is installed, though traces are asked for."""
    async with site(BROKERS["embedded"], tmp_path, workers=3, seed=1, command=BARE) as here:
        await here.shared(2, 3, 3)
        await here.calibrate()
        async with here.load.running(RATE):
            record_property("back_after_kill_seconds", round(await faults.kill(here), 1))
            for fault in (faults.redis_restart, faults.dead_letters, faults.zombie, faults.block, faults.redis_flush):
                await fault(here)
            await asyncio.gather(faults.join_and_leave(here), faults.redis_slow(here))
        await check(here)
        assert here.missed() == set()


@pytest.mark.kafka
async def test_whatever_happens_to_workers_and_apache_kafka(tmp_path: Path, record_property: Any) -> None:
    """The same where the broker compacts what it keeps, goes away and comes back, and drops what was counted."""
    async with site(BROKERS["kafka"], tmp_path, workers=2, seed=2) as here:
        await here.shared(4, 4)
        await here.calibrate()
        async with here.load.running(RATE):
            record_property("back_after_kill_seconds", round(await faults.kill(here), 1))
            await faults.block(here)
            await faults.broker_restart(here)
        await check(here)
        await faults.retention(here)
        await faults.kill(here)
        await here.load.send(200)
        await check(here)
