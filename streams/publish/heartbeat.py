"""Every 5 s: say that an engine is deciding, and notice a Redis that forgot what we wrote."""

from __future__ import annotations

from collections.abc import Callable

from blastdoor_gateway.contract import HEARTBEAT_TTL_SECONDS, Keys
from redis.exceptions import RedisError

from rules.moment import SECOND, Millis, to_rfc3339
from streams.publish.link import Link
from streams.publish.scripts import HEARTBEAT, Call

NOISE: Millis = 500
"""Clocks that differ by less are taken as equal: it is within what one question and its answer take."""


class Heartbeat:
    """One worker's pulse in `Keys.engine`. `offset` is what Redis's clock shows more than ours, in ms."""

    def __init__(self, link: Link, keys: Keys, clock: Callable[[], Millis], worker: str, version: str) -> None:
        self._link = link
        self._key = keys.engine
        self._clock = clock
        self._worker = worker
        self._version = version
        self._server = ""
        self.offset: Millis = 0

    async def beat(self) -> bool:
        """Whether Redis is the same server with the same data as at the last beat."""
        answers = await self._link.ask([self._call()], ("TIME",), ("INFO", "server"))
        for answer in answers:
            if isinstance(answer, RedisError):
                raise answer
        known, (seconds, micros), info = answers
        self.offset = self._compare(int(seconds) * SECOND + int(micros) // 1000)
        before, self._server = self._server, str(info["run_id"])
        return bool(known) and before == self._server

    def _call(self) -> Call:
        now = self._clock()
        args = (self._worker, to_rfc3339(now), now, self._version, HEARTBEAT_TTL_SECONDS * SECOND)
        return Call(HEARTBEAT, (self._key,), args)

    def _compare(self, server: Millis) -> Millis:
        """The least the clocks can differ: the server looked at its own before we look at ours."""
        offset = server - self._clock()
        return offset if abs(offset) > NOISE else 0
