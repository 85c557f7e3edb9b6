"""A v6 gate as it stands at users' sites, written from its description alone: it knows nothing of this repository.

It reads the two `…_at_sync` keys, takes what is missing as 0, adds up the `daily_usage` keys of the Beijing day, and
answers 429 when `usage + reserve >= min(2,000,000, balance + usage at sync − 50,000)`. A call that succeeds is added to
its own key. Its sync thread is off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from redis import Redis

BEIJING = timezone(timedelta(hours=8))
SMALL_BUFFER = 50_000
STATIC_LIMIT = 2_000_000
TWO_DAYS = 48 * 3600


@dataclass(frozen=True)
class Answer:
    """`line` is what the gate logs about it."""

    status: int
    usage: int
    limit: int
    line: str = ""

    @property
    def admitted(self) -> bool:
        return self.status == 200


class V6Gate:
    """One gateway process with one API key. `now` answers milliseconds; `prefix` keeps recordings apart."""

    def __init__(
        self,
        redis: Redis,
        now: Callable[[], int],
        key_hash: str = "ba0383d3",
        prefix: str = "",
        buffer: int = SMALL_BUFFER,
    ) -> None:
        self._redis = redis
        self._now = now
        self._hash = key_hash
        self._prefix = prefix
        self._buffer = buffer

    def check(self, model: str, reserve: int) -> Answer:
        """The gate before the call."""
        usage, limit = self.usage(model), self.limit(model)
        if usage + reserve >= limit:
            line = f"🚫 [PRE-BLOCK] {model} daily limit reached ({usage:,}+{reserve:,}/{limit:,})"
            return Answer(429, usage, limit, line)
        return Answer(200, usage, limit)

    def record(self, model: str, tokens: int) -> int:
        """The success callback; returns the key's total of the day."""
        key = f"{self._prefix}daily_usage:{self._today()}:{model}:{self._hash}"
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.incrby(key, tokens)
            pipe.expire(key, TWO_DAYS)
            return int(pipe.execute()[0])

    def call(self, model: str, reserve: int, tokens: int | None = None) -> Answer:
        """A whole call that uses `tokens`, or just what was reserved."""
        answer = self.check(model, reserve)
        if answer.admitted:
            self.record(model, reserve if tokens is None else tokens)
        return answer

    def usage(self, model: str) -> int:
        """What all keys of the day have used."""
        names = list(self._redis.scan_iter(f"{self._prefix}daily_usage:{self._today()}:{model}:*", count=1000))
        return sum(int(text or 0) for text in self._redis.mget(names)) if names else 0

    def limit(self, model: str) -> int:
        """The cumulative limit of the day."""
        sync = f"{self._prefix}limit:dynamic:volcengine:"
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.get(f"{sync}balance_at_sync:{model}")
            pipe.get(f"{sync}usage_at_sync:{model}")
            balance, usage = pipe.execute()
        return min(STATIC_LIMIT, int(balance or 0) + int(usage or 0) - self._buffer)

    def _today(self) -> str:
        return datetime.fromtimestamp(self._now() / 1000, BEIJING).strftime("%Y-%m-%d")
