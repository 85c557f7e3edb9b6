"""What is decided now about the models of a provider, as the rhythm of polling needs it."""

from __future__ import annotations

from collections.abc import Iterable

from blastdoor_gateway.contract import Decision, Keys
from redis.asyncio import Redis

from rules.polling import Sight


async def look(redis: Redis, keys: Keys, models: Iterable[str]) -> list[Sight]:
    """One sight a model that has a decision; one that cannot be read is left out. Raises the client's errors."""
    names = sorted(models)
    async with redis.pipeline(transaction=False) as pipe:
        for model in names:
            pipe.hgetall(keys.decision(f"model:{model}"))
        answers = await pipe.execute(raise_on_error=False)
    found = (_sight(model, answer) for model, answer in zip(names, answers, strict=True))
    return [sight for sight in found if sight is not None]


def _sight(model: str, stored: object) -> Sight | None:
    if not isinstance(stored, dict) or not stored:
        return None
    try:
        decision = Decision.from_hash(stored)
    except ValueError:
        return None
    return Sight(
        model=model,
        used=decision.used or 0,
        counted=decision.counted or 0,
        wall=decision.wall,
        limit=decision.limit,
        pool_low=decision.pool_low,
        pool_high=decision.pool_high,
    )
