"""The decisions in force, read from Redis as gateways read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blastdoor_gateway.contract import Decision, Keys
from redis.asyncio import Redis
from redis.exceptions import RedisError

MOST = 1_000  # decisions in one answer
_SCAN = 1_000


class UnreachableError(Exception):
    """Redis does not answer."""


class Decided:
    """Looks decisions up."""

    def __init__(self, redis: Redis, keys: Keys) -> None:
        self._redis = redis
        self._start = keys.decision("")
        self._keys = keys

    async def scopes(self) -> list[str]:
        """All scopes with a decision, up to so many. Raises UnreachableError."""
        found = []
        try:
            async for name in self._redis.scan_iter(match=f"{_literally(self._start)}*", count=_SCAN):
                found.append(_text(name).removeprefix(self._start))
                if len(found) >= MOST:
                    break
        except (RedisError, OSError) as error:
            raise UnreachableError("Redis does not answer") from error
        return sorted(found)

    async def read(self, scopes: Iterable[str]) -> list[Decision]:
        """The decisions there are. One that cannot be read is left out. Raises UnreachableError."""
        found = []
        try:
            for scope in scopes:
                stored: Any = await self._redis.hgetall(self._keys.decision(scope))
                if stored and (decision := _decision(stored)) is not None:
                    found.append(decision)
        except (RedisError, OSError) as error:
            raise UnreachableError("Redis does not answer") from error
        return found

    async def close(self) -> None:
        """Let go of the connection."""
        await self._redis.aclose()


def _decision(stored: Any) -> Decision | None:
    try:
        return Decision.from_hash({_text(name): _text(value) for name, value in stored.items()})
    except ValueError:
        return None


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _literally(text: str) -> str:
    """A prefix is the operator's: its characters are no wildcards."""
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in text)
