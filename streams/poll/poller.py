"""The loop around one provider: hold the lease, wait until a poll is due, ask, send the readings, remember.

Rule 1: a failed poll is no reading. Nothing is sent for it, least of all a zero.
Rule 2: a permanent failure stops the asking and tells people once; only a restart by the operator begins anew.
Rule 3: Redis being away stops the asking, too. Without it no gateway reads decisions, and on its return we ask at once.
Rule 4: Kafka not acknowledging a reading ends the process; the poll is not remembered and is made again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from redis.exceptions import RedisError

from rules.moment import Millis
from rules.polling import Due, Pace, Polled, Sight, due
from rules.providers.answer import Answer, Failure, Trouble, readings
from rules.records import Reading
from streams.poll.lease import Lease
from streams.poll.metrics import PollMetrics
from streams.poll.provider import Provider

log = logging.getLogger(__name__)

TICK_SECONDS = 5.0
"""How often what is decided is looked at: a burst makes a poll due within this time."""

Send = Callable[[Sequence[Reading]], Awaitable[None]]
"""Returns when Kafka has acknowledged the readings."""

Stopped = Callable[[str, Failure], Awaitable[None]]
"""Tells people that a provider refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a poller works with."""

    name: str
    pace: Pace
    provider: Provider
    lease: Lease
    models: frozenset[str]  # that the policy names; others may come with the answers
    look: Callable[[Collection[str]], Awaitable[Sequence[Sight]]]
    send: Send
    stopped: Stopped
    metrics: PollMetrics
    clock: Callable[[], Millis]
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


class Poller:
    """One provider, asked for as long as the process lives."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._polled: Polled | None = None
        self._leads = False
        self._models = desk.models
        self._leftovers: tuple[object, ...] = ()
        self.stopped: Failure | None = None
        desk.metrics.expect(desk.name)

    async def run(self) -> None:
        """Until cancelled. Raises NotDelivered when Kafka does not take a reading."""
        try:
            while True:
                await self.turn()
                await self._desk.sleep(TICK_SECONDS)
        finally:
            await self._leave()

    async def turn(self) -> None:
        """Hold the lease and ask if it is time."""
        desk = self._desk
        try:
            if not await self._lead():
                return None
            sights = await desk.look(self._models)
            next_poll = due(self._polled, sights, desk.clock(), desk.pace)
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("%s: Redis does not answer (%s), not asking meanwhile", desk.name, type(error).__name__)
            return self._follow()
        if self.stopped is None and next_poll.at <= desk.clock():
            await self._poll(next_poll, sights)
        return None

    async def _lead(self) -> bool:
        """Whether we are the one that asks; a new leader takes up where the former one was."""
        desk = self._desk
        if not await desk.lease.take():
            self._follow()
            return False
        if not self._leads:
            self._polled = await desk.lease.place()
            self._leads = True
            log.info("%s: this process asks from now on (fencing number %d)", desk.name, desk.lease.fence)
        desk.metrics.leading.labels(provider=desk.name).set(1)
        return True

    def _follow(self) -> None:
        self._leads = False
        self._desk.metrics.leading.labels(provider=self._desk.name).set(0)

    async def _poll(self, next_poll: Due, sights: Sequence[Sight]) -> None:
        desk, begun = self._desk, self._desk.clock()
        desk.metrics.polls.labels(provider=desk.name, why=next_poll.why.value).inc()
        answer = await self._ask()
        if not desk.lease.held:
            log.warning("%s: the lease ended while the answer came; it is thrown away", desk.name)
            return self._follow()
        desk.metrics.poll_seconds.labels(provider=desk.name).observe((desk.clock() - begun) / 1000)
        if isinstance(answer, Failure):
            await self._fail(answer, begun)
        else:
            await self._succeed(answer, sights, begun)
        return None

    async def _ask(self) -> Answer | Failure:
        """The answer; the lease is held on to while it comes."""
        asking = asyncio.create_task(self._desk.provider.ask())
        try:
            while not asking.done():
                await asyncio.wait([asking], timeout=TICK_SECONDS)
                await self._hold_on()
        finally:
            asking.cancel()
        return asking.result()

    async def _hold_on(self) -> None:
        try:
            await self._desk.lease.take()
        except (RedisError, OSError, TimeoutError):
            log.debug("%s: the lease could not be renewed", self._desk.name)  # it ends by itself; see `held`

    async def _succeed(self, answer: Answer, sights: Sequence[Sight], begun: Millis) -> None:
        desk = self._desk
        await desk.send(readings(desk.name, answer))
        desk.metrics.answered.labels(provider=desk.name).set(answer.at / 1000)
        desk.metrics.unplaced.labels(provider=desk.name).set(len(answer.leftovers))
        self._models = desk.models | {balance.model for balance in answer.balances}
        for balance in answer.balances:
            desk.metrics.available.labels(provider=desk.name, model=balance.model).set(balance.available)
        if answer.leftovers != self._leftovers:
            self._leftovers = answer.leftovers
            for left in answer.leftovers:
                log.warning("%s: package %s (%s) counts for no model: %s", desk.name, left.code, left.name, left.why)
        await self._remember(Polled(at=begun, counted={sight.model: sight.counted for sight in sights}))

    async def _fail(self, failure: Failure, begun: Millis) -> None:
        desk, before = self._desk, self._polled
        desk.metrics.poll_failures.labels(provider=desk.name, trouble=failure.trouble.value).inc()
        log.warning("%s: no reading: %s", desk.name, failure)
        if failure.trouble is Trouble.PERMANENT:
            self.stopped = failure
            desk.metrics.stopped.labels(provider=desk.name).set(1)
            log.error("%s: not asked again until this process is restarted: %s", desk.name, failure)
            await desk.stopped(desk.name, failure)
            return
        failures = before.failures + 1 if before else 1
        counted = before.counted if before else {}
        await self._remember(Polled(at=begun, counted=counted, failures=failures, retry_after=failure.retry_after))

    async def _remember(self, polled: Polled) -> None:
        """For ourselves at once; for whoever comes after us if Redis is there."""
        self._polled = polled
        try:
            if not await self._desk.lease.remember(polled):
                self._follow()
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("%s: the poll could not be remembered (%s)", self._desk.name, type(error).__name__)

    async def _leave(self) -> None:
        await self._desk.provider.close()
        try:
            await self._desk.lease.give_back()
        except (RedisError, OSError, TimeoutError):
            log.debug("%s: the lease could not be given back", self._desk.name)  # it ends by itself
