"""Whether an order shows in what gateways read: the decision in Redis, before it and since."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

from blastdoor_gateway.contract import Action, Decision, Keys
from redis.asyncio import Redis
from redis.exceptions import RedisError

from rules.records import Calibration, ControlAction
from streams.orders.order import Order, scope_of

PAUSE = 0.05
TROUBLES = (RedisError, OSError, ValueError)  # ValueError: a decision that cannot be read
REFUSING = (Action.BLOCK, Action.KILL)

CLOSING = (ControlAction.KILL, ControlAction.BAN)
OPENING = (ControlAction.RESUME, ControlAction.UNBAN)


def shows(order: Order, before: Decision | None, after: Decision | None) -> bool:
    """Whether the decision since tells of the order; of one that closes, that it is closed, where decisions bind."""
    if isinstance(order, Calibration):
        return after is not None and (order.id in after.readings or (before is not None and _pool(before, after)))
    if after is None:
        return order.action in OPENING  # nothing is said of the scope any more
    closed = after.action in REFUSING or after.mode == "observe"
    return order.id in after.orders and (closed or order.action not in CLOSING)


def _pool(before: Decision, after: Decision) -> bool:
    return (before.pool_low, before.pool_high) != (after.pool_low, after.pool_high)


class Seen(NamedTuple):
    """What was found in time. `decision` None: there is none any more."""

    shown: bool
    decision: Decision | None


class Sight:
    """Looks at one scope's decision in Redis."""

    def __init__(self, redis: Redis, keys: Keys, order: Order) -> None:
        self._redis = redis
        self._key = keys.decision(scope_of(order))
        self._order = order
        self._before: Decision | None = None

    async def begin(self) -> None:
        """Look before the order is sent. Where Redis cannot be asked nothing is known, and the order goes out."""
        with suppress(*TROUBLES):
            self._before = await self._look()

    async def wait(self, within: float) -> Seen:
        """Until a decision shows the order, `within` seconds at most; a Redis that does not answer shows nothing."""
        after: Decision | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    with suppress(*TROUBLES):
                        after = await self._look()
                        if shows(self._order, self._before, after):
                            return Seen(True, after)
                    await asyncio.sleep(PAUSE)
        return Seen(False, after)

    async def _look(self) -> Decision | None:
        stored: Any = await self._redis.hgetall(self._key)
        return Decision.from_hash(stored) if stored else None
