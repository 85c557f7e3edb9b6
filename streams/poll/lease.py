"""The right to ask a provider: one poller of many has it, and another takes over when that one is gone.

A lease in Redis and not a partition of a consumer group, because the poller looks at Redis anyway (for what is decided
now), a lease passes on within seconds where a group may take a session to notice, and it needs no topic of its own.
What it protects is the provider's patience, not correctness: two pollers at once would ask twice, and each reading
would be true. Still nothing of a former holder is used: a lease that may have ended by our own clock counts as ended,
and what is remembered in Redis carries a fencing number that only grows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.resources import files

import msgspec
from redis.asyncio import Redis

from rules.moment import DAY
from rules.polling import Polled

HOLDS_SECONDS = 30.0
MARGIN_SECONDS = 5.0
"""So long before its end a lease is no longer used: for the way to Redis and for clocks that run unevenly."""


def _script(name: str) -> str:
    return (files(__package__) / f"{name}.lua").read_text(encoding="utf-8")


class Lease:
    """One asker's side. `owner` is unique to the process."""

    def __init__(
        self,
        redis: Redis,
        prefix: str,
        provider: str,
        owner: str,
        *,
        holds: float = HOLDS_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._take = redis.register_script(_script("lease"))
        self._keep = redis.register_script(_script("place"))
        self._redis = redis
        key = f"{prefix}:poll:{provider}"
        self._lock, self._fence_key, self._place = f"{key}:lease", f"{key}:fence", key
        self._owner = owner
        self._holds = holds
        self._monotonic = monotonic
        self._until = 0.0
        self.fence = 0

    @property
    def held(self) -> bool:
        """Whether nobody else can have it now."""
        return self.fence > 0 and self._monotonic() < self._until

    async def take(self) -> bool:
        """Take it or hold on to it. Raises the client's errors."""
        asked = self._monotonic()
        ends = [self._owner, str(round(self._holds * 1000))]
        self.fence = int(await self._take(keys=[self._lock, self._fence_key], args=ends))
        self._until = asked + self._holds - min(MARGIN_SECONDS, self._holds / 3)
        return self.held

    async def give_back(self) -> None:
        """Let another go on at once."""
        if self.fence:
            self.fence = 0
            await self._take(keys=[self._lock, self._fence_key], args=[self._owner, "0"])

    async def place(self) -> Polled | None:
        """The last poll that anybody remembered."""
        raw = await self._redis.hget(self._place, "polled")
        try:
            return msgspec.json.decode(raw or b"", type=Polled)
        except msgspec.DecodeError:
            return None

    async def remember(self, polled: Polled) -> bool:
        """Remember a poll; False if a later holder has done so, and this one must not go on."""
        raw = msgspec.json.encode(polled).decode()
        return bool(await self._keep(keys=[self._place], args=[str(self.fence), raw, str(7 * DAY)]))
