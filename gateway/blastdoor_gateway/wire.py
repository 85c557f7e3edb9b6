"""One connection to Redis on which many callers wait at once: questions go out as they come, answers come back in the
same order. Nobody waits for a connection, and nobody pays for one being handed over.

Rule 1: an answer is read for every question sent, also when its caller has gone away; then it is dropped. So whoever
gives up never leaves his answer to the next.
Rule 2: a connection that breaks fails all who wait on it, at once. It is not mended: whoever asks next opens another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Self

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError


class Wire:
    """Made by `open`. Of one event loop."""

    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._retired = False
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, redis: Redis) -> Self:
        """Connects as the client would: address, TLS, Sentinel and rights are those of its pool."""
        connection: Any = redis.connection_pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        connection.socket_timeout = None  # a wire that nobody uses is silent for long; who asks has a clock of his own
        return cls(connection)

    @property
    def is_open(self) -> bool:
        """Whether it takes questions."""
        return not (self._retired or self._reader.done()) and self._connection.is_connected

    async def ask(self, command: bytes) -> Any:
        """The answer. Raises ResponseError if Redis refuses, ConnectionError if the connection breaks."""
        answer = self._reader.get_loop().create_future()
        self._waiting.append(answer)
        try:
            await self._connection.send_packed_command(command, check_health=False)
            return await answer
        except BaseException:
            answer.cancel()
            raise

    def retire(self) -> None:
        """Somebody waited in vain: take no more questions. Who waits here may still be answered."""
        self._retired = True
        if all(answer.done() for answer in self._waiting):
            self._reader.cancel()

    async def close(self) -> None:
        self._reader.cancel()
        await asyncio.wait([self._reader])

    async def _read(self) -> None:
        why: BaseException | str = "closed"
        try:
            while self._waiting or not self._retired:
                self._hand_over(await self._next())
        except (RedisError, OSError) as error:
            why = error
        finally:
            for answer in self._waiting:
                if not answer.done():
                    answer.set_exception(RedisConnectionError(f"the connection broke: {why}"))
            await self._connection.disconnect(nowait=True)

    async def _next(self) -> Any:
        try:
            return await self._connection.read_response()
        except ResponseError as error:
            return error

    def _hand_over(self, found: Any) -> None:
        if not self._waiting:
            msg = "an answer that nobody asked for"
            raise RedisConnectionError(msg)
        answer = self._waiting.popleft()
        if answer.done():
            return
        if isinstance(found, ResponseError):
            answer.set_exception(found)
        else:
            answer.set_result(found)
