"""`POST /v1/controls`: one order of an operator, once for an id.

    {"action": "kill", "scope": "global", "by": "lin", "why": "…"}        with `Idempotency-Key: ID`, or `"id"` inside

    202  {"id": "…"}                 on Kafka; what follows shows in the decision of its scope
    200  {"id": "…", "origin": "…"}  the same stood there before; nothing was done again
    400  not an order                401  no or a wrong token     403  the sender may not send controls
    408  the body came too slowly    409  the id is another order's    413  too large
    503  not acknowledged, or Kafka cannot be asked: send it again, with the same id

What the body leaves out is filled in: `type`, `ts` (now), `id` (a new one: such a request must not be repeated). A
calibration needs a sender that may send balances as well. Without Kafka nothing is accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any, NamedTuple

import msgspec
from aiohttp import web
from aiokafka.errors import KafkaError

from rules.intake.reader import Intake
from rules.meter import AHEAD
from rules.moment import MINUTE, Millis, to_datetime
from rules.policy import Sender
from rules.records import Calibration, Control, Rejected
from streams.api.door import Door, kind_of
from streams.delivery.errors import DeliveryError
from streams.metrics import Metrics
from streams.orders.archive import Archive
from streams.orders.order import Order, new_id, unheeded
from streams.orders.send import ConflictError, NotAcknowledgedError, Sink, send_once
from streams.topics import BrokerUnavailable, Topics

MOST_BYTES = 64 * 1024
READ_SECONDS = 10.0


class Answer(NamedTuple):
    """A status with what is told beside it."""

    status: int
    told: Mapping[str, Any]

    def response(self) -> web.Response:
        return web.json_response(dict(self.told), status=self.status)


class RefusedError(Exception):
    """A request that is answered without an order."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Controls:
    """The handler. Orders are taken one after another, so that two of one id in this process cannot both be new."""

    def __init__(
        self,
        door: Door,
        zone: tzinfo,
        topics: Topics,
        archive: Archive,
        sink: Sink,
        metrics: Metrics,
        clock: Callable[[], Millis],
    ) -> None:
        self.door = door
        self._zone = zone
        self._topics = topics
        self._archive = archive
        self._sink = sink
        self._metrics = metrics
        self._clock = clock
        self._intake = Intake(zone)
        self._one = asyncio.Lock()

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/controls", self.answer)]

    async def answer(self, request: web.Request) -> web.Response:
        """Take one order."""
        try:
            found = await self._take(request)
        except RefusedError as refused:
            found = Answer(refused.status, {"detail": str(refused)})
        self._metrics.requests.labels(status=str(found.status)).inc()
        return found.response()

    async def _take(self, request: web.Request) -> Answer:
        if self.door.is_locked:
            raise RefusedError(403, "no sender has a token; name one in the policy's section `senders`")
        sender = self.door.admit(request.headers.get("Authorization", ""))
        if sender is None:
            raise RefusedError(401, "a bearer token of the policy's section `senders` is needed")
        if "controls" not in sender.may:
            raise RefusedError(403, f"the sender {sender.name} may not send controls")
        order = self._order(await _body(request), request.headers.get("Idempotency-Key", ""), sender)
        return await self._send(order, sender)

    def _order(self, raw: bytes, key: str, sender: Sender) -> Order:
        """What is left out is filled in; everything else is checked as it is for all who send."""
        now = to_datetime(self._clock(), self._zone).isoformat()
        defaults = {"type": "control", "ts": now, "by": sender.name}
        body = defaults | _object(raw)
        if key and body.setdefault("id", key) != key:
            raise RefusedError(400, "Idempotency-Key and id differ")
        body.setdefault("id", new_id())
        found = self._intake.read(msgspec.json.encode(body))
        if isinstance(found, Rejected):
            raise RefusedError(400, found.detail)
        if not isinstance(found, Control | Calibration):
            raise RefusedError(400, "neither a control nor a calibration")
        if kind_of(found) not in sender.may:
            raise RefusedError(403, f"the sender {sender.name} may not send {kind_of(found)}")
        if why := unheeded(found):
            raise RefusedError(400, why)
        if found.at > self._clock() + AHEAD:
            raise RefusedError(400, f"ts: lies more than {AHEAD // MINUTE} min ahead of the clock")
        return found

    async def _send(self, order: Order, sender: Sender) -> Answer:
        try:
            async with self._one:
                sent = await send_once(order, self._archive, self._sink, self._topics, f"http:{sender.name}")
        except ConflictError as conflict:
            return Answer(409, {"id": order.id, "detail": str(conflict)})
        except NotAcknowledgedError as late:
            return Answer(503, {"id": order.id, "detail": str(late)})
        except (BrokerUnavailable, DeliveryError, KafkaError, OSError):
            return Answer(503, {"id": order.id, "detail": "Kafka cannot be asked; send it again with the same id"})
        if sent.before is not None:
            return Answer(200, {"id": order.id, "origin": sent.before.origin})
        return Answer(202, {"id": order.id})


async def _body(request: web.Request) -> bytes:
    if (request.content_length or 0) > MOST_BYTES:
        raise RefusedError(413, f"more than {MOST_BYTES:,} bytes")
    try:
        async with asyncio.timeout(READ_SECONDS):
            body = await request.content.read(MOST_BYTES + 1)
            while len(body) <= MOST_BYTES and (more := await request.content.read(MOST_BYTES + 1 - len(body))):
                body += more
    except TimeoutError:
        raise RefusedError(408, f"the body did not come within {READ_SECONDS:.0f} s") from None
    if len(body) > MOST_BYTES:
        raise RefusedError(413, f"more than {MOST_BYTES:,} bytes")
    return body


def _object(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError(400, f"no JSON object: {error}"[:200]) from None
    if not isinstance(found, dict):
        raise RefusedError(400, "no JSON object")
    return found
