"""The middle of the demo, while all parts run: recordings in, decisions and alerts out, and what Redis says then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from blastdoor_gateway.contract import Decision, Keys
from redis.asyncio import Redis

from rules.alerts import Kind
from rules.facts import Scope
from rules.policy import Policy
from rules.replay import Replayed
from streams.channels.receiver import Receiver
from streams.demo.comparison import Row, compare
from streams.demo.findings import Expected, Findings, faults, of_redis
from streams.demo.gate import Gate
from streams.demo.policy import CHANNELS
from streams.demo.recordings import CONSOLE, Recordings
from streams.demo.shipping import Pace, Shipping
from streams.demo.show import Show
from streams.demo.together import unless
from streams.demo.witness import Witness, decided_at
from streams.settings import Settings
from streams.ship.outbox import open_outbox
from streams.ship.parcels import Addresser
from streams.ship.tally import Tally
from streams.topics import Topics, ensure_topics

PATIENCE_SECONDS = 20.0
"""How long what follows the last record may take, on a slow machine."""

POLL_SECONDS = 0.05

T = TypeVar("T")


class LateError(Exception):
    """Something that must come did not."""


@dataclass(frozen=True, kw_only=True)
class Performance:
    """`settings`: of the parts that run, on the recordings' clock. `expected`: the same without Kafka."""

    recordings: Recordings
    expected: Expected
    policy: Policy
    settings: Settings
    receiver: Receiver
    show: Show
    pace: Pace

    async def whole(self) -> Findings:
        """Raises LateError, NotDelivered."""
        topics = Topics(self.settings.prefix)
        partitions = await ensure_topics(self.settings.kafka, self.settings.prefix)
        async with Redis.from_url(self.settings.redis, decode_responses=True) as redis:
            gate = Gate(redis, self.keys, self.policy.calendar())
            sending = self._send(gate, topics, partitions)
            await unless(sending, self.witness.watch(self.settings.kafka, topics.decisions, partitions))
            return await self._findings(redis, gate)

    @cached_property
    def keys(self) -> Keys:
        return Keys(self.settings.prefix, self.settings.legacy_prefix)

    @cached_property
    def scope(self) -> Scope:
        """The recordings are about one model."""
        return f"model:{self.policy.canonical(self.recordings.model)}"

    @cached_property
    def witness(self) -> Witness:
        return Witness(self.scope, self._heard)

    async def _send(self, gate: Gate, topics: Topics, partitions: int) -> None:
        """Ship everything and wait for what must come of it."""
        thresholds = (alert.id for alert in self.expected.alerts if alert.kind is Kind.THRESHOLD)
        self.show.scene.in_full = frozenset(thresholds)
        readings = len(self.recordings.readings)
        self.show.stage(f"{len(self.recordings.usage):,} calls and {readings} balance readings on their way to Kafka")
        async with open_outbox(self.settings.kafka, partitions, Tally()) as outbox:
            shipping = Shipping(outbox, Addresser(topics), gate, self.pace, self.show.shipped)
            planned = self.pace.planned(self.recordings)
            await within(shipping.ship(self.recordings), "Kafka did not take the recordings", planned)
        self.show.stage("all of it acknowledged; the last decisions and alerts are coming in")
        await within(self.witness.reached(self.recordings.end), "the last decision did not come by Kafka")
        await within(self.receiver.until(self._all_arrived), "not all alerts arrived at the receiver")

    def _heard(self, decision: Decision) -> None:
        self.show.decided(decision)
        for replayed in self.expected.replayed:
            reading = replayed.reading
            if reading.at == decided_at(decision) and reading.id in decision.readings:
                self.show.read(self._row(replayed, decision))

    def _row(self, replayed: Replayed, decision: Decision) -> Row:
        terms = self.policy.terms(self.scope.removeprefix("model:"))
        return compare(replayed, decision, terms, CONSOLE[decision.day])

    def _all_arrived(self) -> bool:
        arrived = {(arrival.channel, arrival.id) for arrival in self.receiver.arrivals}
        return arrived >= {(kind, alert.id) for kind in CHANNELS.values() for alert in self.expected.alerts}

    async def _findings(self, redis: Redis, gate: Gate) -> Findings:
        zone, last = self.policy.calendar().zone, self.witness.decisions[-1]
        stored = await self._stored(redis, last)
        sight = await gate.look(self.recordings.model, last.day, self.recordings.key_hash)
        rows, arrivals = tuple(self._rows()), tuple(self.receiver.arrivals)
        return Findings(
            rows=rows,
            arrivals=arrivals,
            key=self.keys.decision(self.scope),
            stored=stored,
            sight=sight,
            held=tuple((refusal, self.witness.at(refusal.at)) for refusal in self.recordings.refusals),
            faults=(*faults(self.expected, self.witness, rows, arrivals, zone), *of_redis(stored, last, sight)),
        )

    def _rows(self) -> Iterable[Row]:
        for replayed in self.expected.replayed:
            decision = self.witness.on(replayed.reading)
            if decision is not None:
                yield self._row(replayed, decision)

    async def _stored(self, redis: Redis, last: Decision) -> Decision:
        """The decision in Redis, once it is the last one."""
        found = _until_stored(redis, self.keys.decision(self.scope), last)
        return await within(found, "Redis did not get the last decision")


async def _until_stored(redis: Redis, key: str, last: Decision) -> Decision:
    while True:
        found = {str(name): str(text) for name, text in (await redis.hgetall(key)).items()}
        if found and (stored := Decision.from_hash(found)).version >= last.version:
            return stored
        await asyncio.sleep(POLL_SECONDS)


async def within(awaited: Awaitable[T], what: str, planned: float = 0.0) -> T:
    """The result, if it comes in time; `planned` seconds are needed in any case. Raises LateError."""
    patience = planned + PATIENCE_SECONDS
    try:
        async with asyncio.timeout(patience):
            return await awaited
    except TimeoutError as error:
        msg = f"{what} within {patience:.0f} s"
        raise LateError(msg) from error
