"""The way to Redis: scripts in pipelines, bounded in time, on a server that is fit for them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ResponseError

from streams.publish.scripts import ALL, Call

T = TypeVar("T")

CHUNK = 500
"""Keys that one command reads."""

WHOLE = re.compile(r"-?[0-9]{1,15}")

OLDEST = (6, 2)
"""`SET … PXAT` came with this version."""


class UnsuitableRedisError(RuntimeError):
    """The operator pointed us at a Redis that cannot work. Trying again does not help."""


class Link:
    """Everything that is sent to Redis goes through here.

    All of it raises the client's errors, and TimeoutError when an answer takes longer than `patience` seconds.
    """

    def __init__(self, redis: Redis, patience: float) -> None:
        """`redis` must decode responses; see client.py."""
        self.redis = redis
        self._patience = patience

    async def greet(self) -> None:
        """Refuse a server that cannot do the work, and give it the scripts."""
        check(await self.patiently(self.redis.info("server")))
        for script in ALL:
            await self.patiently(self.redis.script_load(script.text))

    async def call(self, calls: Sequence[Call]) -> list[Any]:
        """The answers of scripts, asked together. An error reply is an answer, too."""
        return await self.patiently(self._called(b"".join([call.to_wire() for call in calls]), len(calls)))

    async def ask(self, calls: Sequence[Call], *commands: tuple[str, ...]) -> list[Any]:
        """The same with plain `commands` behind them, through a pipeline of the client, which knows how to read what
        they answer and takes longer."""
        async with self.redis.pipeline(transaction=False) as pipe:
            for script, keys, args in calls:
                pipe.evalsha(script.sha, len(keys), *keys, *args)
            for command in commands:
                pipe.execute_command(*command)
            return await self.patiently(pipe.execute(raise_on_error=False))

    async def _called(self, wire: bytes, count: int) -> list[Any]:
        """Whatever ends the reading half-way also ends the connection: no answer is left to the next who asks."""
        pool = self.redis.connection_pool
        connection = await pool.get_connection()  # type: ignore[no-untyped-call]
        connection.socket_timeout = None  # `patiently` has the clock; the client would have one for each answer
        try:
            await connection.send_packed_command(wire, check_health=False)
            return [await _answer(connection) for _ in range(count)]
        finally:
            await pool.release(connection)

    async def scan(self, cursor: int, pattern: str, count: int) -> tuple[int, list[str]]:
        """One step over the keys: where the next one begins (0: that was the last), and the names that match."""
        found, names = await self.patiently(self.redis.scan(cursor, pattern, count))
        return int(found), [str(name) for name in names]

    async def total(self, names: Sequence[str]) -> int:
        """The sum of counters; what is missing or no whole number counts as 0."""
        tokens = 0
        for first in range(0, len(names), CHUNK):
            texts = await self.patiently(self.redis.mget(names[first : first + CHUNK]))
            tokens += sum(int(text) for text in texts if text is not None and WHOLE.fullmatch(str(text)))
        return tokens

    async def missing(self, names: Sequence[str]) -> list[str]:
        """Those of `names` that Redis does not hold. Asks about single keys only where some are gone."""
        gone: list[str] = []
        for first in range(0, len(names), CHUNK):
            chunk = names[first : first + CHUNK]
            if await self.patiently(self.redis.exists(*chunk)) < len(chunk):
                answers = await self.ask([], *(("EXISTS", name) for name in chunk))
                gone += [name for name, answer in zip(chunk, answers, strict=True) if answer == 0]
        return gone

    async def patiently(self, answer: Awaitable[T]) -> T:
        """`answer`, or TimeoutError."""
        before = _cancellations()
        async with asyncio.timeout(self._patience):
            found = await answer
        if _cancellations() > before:
            # The client sends through asyncio.wait_for, which before Python 3.12 can swallow a cancellation.
            raise asyncio.CancelledError
        return found

    async def hang_up(self) -> None:
        """Drop all connections: the next one may find another server behind the same name."""
        await self.patiently(self.redis.connection_pool.disconnect(inuse_connections=True))


async def _answer(connection: AbstractConnection) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


def _cancellations() -> int:
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def check(server: dict[str, Any]) -> None:
    """Raises UnsuitableRedisError if the INFO of a server says that it cannot do the work."""
    if server.get("redis_mode") == "cluster":
        msg = (
            "Redis Cluster is not supported: one script reads the keys of several scopes, "
            "which a cluster keeps apart. Use a single Redis, with replicas or Sentinel if it must not fail."
        )
        raise UnsuitableRedisError(msg)
    version = str(server.get("redis_version", ""))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers and numbers < OLDEST:
        msg = f"Redis {version} is too old: 6.2 or newer is needed."
        raise UnsuitableRedisError(msg)
