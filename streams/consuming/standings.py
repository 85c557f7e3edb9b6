"""How each model stands: the newest decision in Redis, with what only the history on Kafka says of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from blastdoor_gateway.contract import Action, Decision, Keys
from redis.asyncio import Redis

from rules.consumption import Standing
from rules.facts import GLOBAL
from rules.moment import from_datetime
from rules.outlook import Unused
from rules.policy import Policy
from streams.explaining.history import History

MODEL = "model:"


class NobodyDecidesError(Exception):
    """No engine is at work: what stands in Redis may be long past."""


async def standings(redis: Redis, keys: Keys, history: History, policy: Policy) -> dict[str, Standing]:
    """Every model of which something is decided. Raises NobodyDecidesError and what Redis and Kafka raise."""
    if not await redis.exists(keys.engine):
        raise NobodyDecidesError("no engine is at work: nothing may be used up by old decisions")
    told = await history.newest()
    closed = await _closed(redis, keys)
    found = {}
    for scope, kept in sorted(told.items()):
        if scope.startswith(MODEL):
            model = scope.removeprefix(MODEL)
            now = await _decision(redis, keys, scope)
            found[model] = _standing(model, now, kept.decision, policy, closed)
    return found


async def _closed(redis: Redis, keys: Keys) -> str:
    """Why everything is closed; empty where it is not."""
    found = await _decision(redis, keys, GLOBAL)
    refuses = found is not None and found.action in {Action.KILL, Action.BLOCK, Action.UNKNOWN}
    return (found.reason or found.action.value) if found is not None and refuses else ""


async def _decision(redis: Redis, keys: Keys, scope: str) -> Decision | None:
    stored: Any = await redis.hgetall(keys.decision(scope))
    return Decision.from_hash(stored) if stored else None


def _standing(model: str, now: Decision | None, told: Decision, policy: Policy, closed: str) -> Standing:
    """A model without a decision in Redis is one that gates refuse."""
    terms, yesterday = policy.terms(model), told.because.get("yesterday")
    return Standing(
        model=model,
        action="kill" if closed else "unknown" if now is None else now.action.value,
        reason=closed or ("nothing is decided about it now" if now is None else now.reason),
        cap=terms.daily_cap,
        buffer=terms.small_buffer,
        used=None if now is None else now.used,
        pool_low=None if now is None else now.pool_low,
        yesterday=yesterday if isinstance(yesterday, int) else None,
        expiring=tuple(_unused(told.will_expire)),
    )


def _unused(told: dict[str, Any]) -> list[Unused]:
    return [
        Unused(name, from_datetime(datetime.fromisoformat(each["expires"])), int(each["tokens"]))
        for name, each in told.items()
    ]
