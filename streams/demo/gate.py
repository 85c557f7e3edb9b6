"""The gateway of the recordings: version 6 and unchanged, with its own balance sync switched off.

It counts each call in Redis, and before a call it works out its limit from the two numbers it finds there.
"""

from __future__ import annotations

from dataclasses import dataclass

from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis

from rules.calendar import Calendar, Day
from rules.records import Usage

SMALL_BUFFER = 50_000  # its own
STATIC_LIMIT = 2_000_000
TWO_DAYS = 48 * 3600


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What it finds under its keys, None where there is none, and what it makes of that."""

    prefix: str  # what the keys of recordings have before the names that gateways know
    keys: tuple[str, str, str]  # balance_at_sync, usage_at_sync and its own counter
    balance: int | None
    usage_at_sync: int | None
    counted: int

    @property
    def limit(self) -> int:
        """What the day may use in total. A missing number is 0, so it refuses."""
        return min(STATIC_LIMIT, (self.balance or 0) + (self.usage_at_sync or 0) - SMALL_BUFFER)

    @property
    def left(self) -> int:
        """What it still admits."""
        return max(0, self.limit - self.counted)


class Gate:
    """One gateway process with one API key."""

    def __init__(self, redis: Redis, keys: Keys, calendar: Calendar) -> None:
        self._redis = redis
        self._keys = keys
        self._calendar = calendar

    async def count(self, call: Usage) -> None:
        """The success callback."""
        key = self._keys.daily_usage(self._calendar.day(call.at), call.model, call.key_hash)
        await self._redis.incrby(key, call.total_tokens)
        await self._redis.expire(key, TWO_DAYS)

    async def look(self, model: str, day: Day, key_hash: str) -> Sight:
        """The check before a call."""
        keys = self._keys
        names = keys.balance_at_sync(model), keys.usage_at_sync(model), keys.daily_usage(day, model, key_hash)
        balance, usage, counted = (None if text is None else int(text) for text in await self._redis.mget(names))
        first, second, third = (name.removeprefix(keys.legacy_prefix) for name in names)
        return Sight(
            prefix=keys.legacy_prefix,
            keys=(first, second, third),
            balance=balance,
            usage_at_sync=usage,
            counted=counted or 0,
        )
