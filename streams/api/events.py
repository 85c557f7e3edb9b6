"""`POST /v1/events`: events of any accepted format go to Kafka; the answer comes after its acknowledgement.

    200  {"accepted": 2, "errors": []}            all taken; `/api/v1/events` answers 204, as OpenMeter's clients expect
    200  {"accepted": 1, "errors": [{"index": 1, "reason": "bad_time", "detail": "…"}]}
    400  nothing in the body can be used     401  no or a wrong token     403  no token is configured
    408  the body came too slowly            413  too large               429  too much is under way
    503  not acknowledged in time: send again

A record that cannot be used is an error of the answer and a dead letter as well, since many senders never look at
answers. Sending again is safe: ids make repeats harmless.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aiohttp import web

from rules.intake.reader import Intake
from rules.moment import Millis
from rules.policy import Sender
from rules.records import Reason, Record, Rejected
from streams.api.bodies import BadBodyError, records
from streams.api.door import Door, kind_of
from streams.api.room import FullError, Room
from streams.api.server import LARGEST
from streams.api.sink import Sink
from streams.metrics import Metrics
from streams.ship.lines import LINE_LIMIT, Line
from streams.ship.parcels import DEAD, USAGE, Addresser, Parcel
from streams.trails import TRACE, read_trail

READ_SECONDS = 30.0
"""A sender that takes longer to bring its body occupies room for nothing."""
TURN = 200  # records read between two turns of the event loop


class Read(NamedTuple):
    """A record's parcel, if any, and why it is no good, if so."""

    parcel: Parcel | None
    rejected: Rejected | None


class Outcome(NamedTuple):
    """What a request is answered."""

    status: int
    accepted: int = 0
    errors: Sequence[Mapping[str, Any]] = ()
    headers: Mapping[str, str] = {}

    def response(self) -> web.Response:
        body = {"accepted": self.accepted, "errors": self.errors}
        return web.json_response(body, status=self.status, headers=self.headers)


class Events:
    """The handler. `clock`: when dead letters were found."""

    def __init__(
        self,
        door: Door,
        intake: Intake,
        addresser: Addresser,
        sink: Sink,
        metrics: Metrics,
        clock: Callable[[], Millis],
    ) -> None:
        self._door = door
        self._intake = intake
        self._addresser = addresser
        self._sink = sink
        self._metrics = metrics
        self._clock = clock
        self._room = Room()

    def routes(self) -> list[web.RouteDef]:
        """Ours, and the path that OpenMeter's clients append to an address."""
        return [web.post("/v1/events", self.answer), web.post("/api/v1/events", self.answer_like_openmeter)]

    async def answer(self, request: web.Request) -> web.Response:
        """Take the events of a request."""
        outcome = await self._take(request)
        self._metrics.requests.labels(status=str(outcome.status)).inc()
        return outcome.response()

    async def answer_like_openmeter(self, request: web.Request) -> web.Response:
        """The same; where all is well the answer is empty."""
        outcome = await self._take(request)
        all_taken = outcome.status == 200 and not outcome.errors
        self._metrics.requests.labels(status="204" if all_taken else str(outcome.status)).inc()
        return web.Response(status=204) if all_taken else outcome.response()

    async def close(self) -> None:
        """Send what is under way."""
        await self._sink.close()

    async def _take(self, request: web.Request) -> Outcome:
        if self._door.is_locked:
            return _refuse(403, "no sender has a token; name one in the policy's section `senders`")
        sender = self._door.admit(request.headers.get("Authorization", ""))
        if sender is None:
            what = "a bearer token of the policy's section `senders` is needed"
            return _refuse(401, what, {"WWW-Authenticate": "Bearer"})
        size = LARGEST if request.content_length is None else request.content_length
        if size > LARGEST:
            return _refuse(413, f"{size:,} bytes; up to {LARGEST:,} are taken")
        try:
            await self._room.enter(size)
        except FullError:
            return _refuse(429, "too much is under way", {"Retry-After": "1"})
        try:
            return await self._take_body(request, sender)
        finally:
            await self._room.leave(size)

    async def _take_body(self, request: web.Request, sender: Sender) -> Outcome:
        try:
            async with asyncio.timeout(READ_SECONDS):
                body = await request.read()
            found = records(body)
        except BadBodyError as bad:
            return _refuse(bad.status, str(bad))
        except TimeoutError:
            return _refuse(408, f"the body did not come within {READ_SECONDS:.0f} s")
        except web.HTTPRequestEntityTooLarge:
            return _refuse(413, f"more than {LARGEST:,} bytes")
        return await self._send(await self._read(found, body, sender), _trace_of(request))

    async def _read(self, found: list[bytes], body: bytes, sender: Sender) -> list[Read]:
        origin = f"http:{sender.name}/{hashlib.sha256(body).hexdigest()[:16]}"
        read = []
        for index, raw in enumerate(found):
            read.append(self._read_one(raw, f"{origin}/{index}", sender))
            if index % TURN == TURN - 1:
                await asyncio.sleep(0)
        return read

    def _read_one(self, raw: bytes, origin: str, sender: Sender) -> Read:
        record: Record | Rejected | None
        if len(raw) > LINE_LIMIT:
            record = Rejected(Reason.TOO_LARGE, f"{len(raw):,} bytes; up to {LINE_LIMIT:,} are read")
        else:
            record = self._intake.read(raw)
        if record is None:
            return Read(None, None)
        if not isinstance(record, Rejected) and kind_of(record) not in sender.may:
            record = Rejected(Reason.WRONG_TOPIC, f"the sender {sender.name} may not send {kind_of(record)}")
        rejected = record if isinstance(record, Rejected) else None
        return Read(self._addresser.parcel(record, Line(0, raw, len(raw)), origin, self._clock()), rejected)

    async def _send(self, read: list[Read], trace: bytes) -> Outcome:
        places = [place for place, each in enumerate(read) if each.parcel is not None]
        parcels = [
            parcel._replace(trace=trace) if trace else parcel for each in read if (parcel := each.parcel) is not None
        ]
        lost = await self._sink.send(parcels)
        unsafe = {places[number] for number in lost}
        errors = [error for place, each in enumerate(read) if (error := _error(place, each, place in unsafe))]
        accepted = len(read) - len(errors)
        self._metrics.received.labels(outcome="accepted").inc(accepted)
        safe = [parcel for number, parcel in enumerate(parcels) if number not in lost]
        self._metrics.received_usage.inc(sum(parcel.kind == USAGE for parcel in safe))
        self._metrics.received.labels(outcome="rejected").inc(sum(each.rejected is not None for each in read))
        self._metrics.received.labels(outcome="unacknowledged").inc(len(unsafe))
        for each in read:
            if each.rejected is not None and each.parcel is not None and each.parcel.kind == DEAD:
                self._metrics.dead_letters.labels(reason=each.rejected.reason.value).inc()
        status = 503 if unsafe else 200 if accepted else 400
        return Outcome(status, accepted, errors, {"Retry-After": "5"} if unsafe else {})


def _trace_of(request: web.Request) -> bytes:
    """The trace that the request belongs to; what is no W3C trace context is left out."""
    given = request.headers.get(TRACE, "").encode(errors="replace")
    return read_trail([(TRACE, given)]).trace or b""


def _error(place: int, read: Read, unsafe: bool) -> dict[str, Any] | None:
    if read.rejected is not None:
        return {"index": place, "reason": read.rejected.reason.value, "detail": read.rejected.detail}
    return {"index": place, "reason": "unacknowledged", "detail": "send it again"} if unsafe else None


def _refuse(status: int, what: str, headers: Mapping[str, str] = {}) -> Outcome:
    return Outcome(status, 0, [{"reason": "refused", "detail": what}], headers)
