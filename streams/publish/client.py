"""A Redis client fit for publishing: it gives up soon, never repeats by itself, and speaks text."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

PATIENCE_SECONDS = 2.0
"""How long Redis may take for anything. A healthy one takes a millisecond."""


def open_redis(url: str, patience: float = PATIENCE_SECONDS) -> Redis:
    """A client for `url` that connects when first used. The publisher itself decides when to try again."""
    return Redis.from_url(
        url,
        decode_responses=True,
        encoding_errors="replace",  # a damaged name must not stop all others
        socket_timeout=patience,
        socket_connect_timeout=patience,
        retry=Retry(NoBackoff(), 0),
    )
