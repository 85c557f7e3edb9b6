"""Notices when nothing moves although there is work: consumers have been seen to fall silent after days, without error.

The end of the logs is asked for apart from the consumer that is watched. While the broker does not answer, nothing is
held against anyone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.delivery.delivery import Delivery
from streams.delivery.errors import StalledError
from streams.kafka import connection

STALL_SECONDS = 30.0  # a position with work ahead of it moves at least once in this time
WAIT_SECONDS = 90.0  # for the group, for a table's next rows, for a step to take its partitions over
LOOK_EVERY = 5.0

logger = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)


class Watch(Generic[K]):
    """Since when each thing has not moved."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: dict[K, tuple[int, float]] = {}

    def look(self, now: float, places: Mapping[K, tuple[int, int]]) -> list[K]:
        """Those whose position (first of the pair) has stood still below its end (second) for too long."""
        self._since = {
            key: self._since[key] if key in self._since and self._since[key][0] == position else (position, now)
            for key, (position, end) in places.items()
            if position < end
        }
        return [key for key, (_, since) in self._since.items() if now - since >= self._patience]


async def watch(delivery: Delivery) -> None:
    """Run until something stalls, then end the process."""
    stalls: Watch[str] = Watch(STALL_SECONDS)
    consumer = AIOKafkaConsumer(**connection(delivery.kafka), group_id=None)
    await consumer.start()
    try:
        while True:
            await asyncio.sleep(LOOK_EVERY)
            waiting = delivery.waiting_since
            if waiting is not None and time.monotonic() - waiting > WAIT_SECONDS:
                msg = f"no partition for {WAIT_SECONDS:.0f} s: the group does not settle, or a table is not restored"
                raise StalledError(msg)
            places = await _places(delivery, consumer)
            for name in stalls.look(time.monotonic(), places):
                position, end = places[name]
                msg = (
                    f"{name} has stood at offset {position} for {STALL_SECONDS:.0f} s although the log goes on to {end}"
                )
                raise StalledError(msg)
    except StalledError as stalled:
        delivery.fail(stalled)
    finally:
        await consumer.stop()


async def _places(delivery: Delivery, consumer: AIOKafkaConsumer) -> dict[str, tuple[int, int]]:
    """Flushed position and log end by partition; empty when the broker does not say.

    tansu's answer points into the last batch; what is behind a whole batch is behind that too.
    """
    leases = {TopicPartition(*tp): lease for tp, lease in delivery.leases.items() if lease.started}
    if not leases:
        return {}
    try:
        async with asyncio.timeout(LOOK_EVERY):
            ends = await consumer.end_offsets(list(leases))
    except (KafkaError, TimeoutError) as error:
        logger.debug("the ends of the logs are unknown: %r", error)
        return {}
    return {str(lease): (lease.flushed, ends[tp]) for tp, lease in leases.items() if tp in ends}
