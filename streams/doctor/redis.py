"""Looks at Redis: what it is, whether it forgets, whether it tells the time as we do, and who else writes our keys."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from blastdoor_gateway.contract import Keys
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError

from rules.moment import SECOND
from streams.doctor.finding import Finding, Level, error, fine, note, warning
from streams.publish.client import open_redis
from streams.publish.link import UnsuitableRedisError, check
from streams.settings import Settings
from streams.wall_clock import wall_clock

PART, CLOCK = "redis", "clock"
SKEW_WARNED, SKEW_HARMFUL = 2 * SECOND, 30 * SECOND
WATCH_SECONDS = 2.0
SILENT = 30.0  # seconds; a gate calls a heartbeat stale after as many


async def examine(settings: Settings) -> list[Finding]:
    """What is to be said of the server, its clock, and our keys on it."""
    async with _opened(settings) as redis:
        try:
            info: Mapping[str, Any] = await redis.info()
            found = _server(info)
            if found[0].level is Level.FINE:
                found += [*_memory(info), await _rights(redis, settings), await _clock(redis)]
                found += [await _engine(redis, settings), *await _strangers(redis, settings)]
            return found
        except (AuthenticationError, NoPermissionError) as refused:
            return [error(PART, f"Redis refuses us: {refused}", "check the user and its rights, see docs/security.md")]
        except (RedisError, OSError, TimeoutError) as away:
            return [error(PART, f"Redis does not answer: {type(away).__name__}", "check BLASTDOOR_REDIS")]


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Redis]:
    redis = open_redis(settings.redis)
    try:
        yield redis
    finally:
        await redis.aclose()


def _server(info: Mapping[str, Any]) -> list[Finding]:
    try:
        check(dict(info))
    except UnsuitableRedisError as unsuitable:
        return [error(PART, str(unsuitable), "point BLASTDOOR_REDIS at another server")]
    found = [fine(PART, f"Redis {info.get('redis_version', '?')}, {info.get('redis_mode', 'standalone')}")]
    if info.get("role") != "master":
        found.append(
            error(PART, "this Redis is a replica", "point BLASTDOOR_REDIS at the master: replicas are read-only")
        )
    return found


def _memory(info: Mapping[str, Any]) -> list[Finding]:
    most, used, policy = (
        int(info.get("maxmemory", 0)),
        int(info.get("used_memory", 0)),
        info.get("maxmemory_policy", ""),
    )
    found = []
    if most and policy != "noeviction":
        what = f"under memory pressure keys are thrown away (maxmemory-policy {policy})"
        found.append(error(PART, what, "set maxmemory-policy noeviction: a decision that is gone is a closed gate"))
    if most and used > 0.8 * most:
        what = f"{used >> 20:,} of {most >> 20:,} MiB are used"
        found.append(warning(PART, what, "raise maxmemory; beyond it no decision is written any more"))
    if not found:
        found.append(fine(PART, f"{used >> 20:,} MiB used, {'no limit' if not most else f'of {most >> 20:,}'}"))
    return found


async def _rights(redis: Redis, settings: Settings) -> Finding:
    """Whether we may write, by a key of our own that ends by itself."""
    key = f"{settings.prefix}:doctor:{secrets.token_hex(4)}"
    try:
        await redis.set(key, "1", px=1000)
    except RedisError as refused:
        return error(PART, f"we may not write {settings.prefix}:*: {refused}", "see the rights in docs/security.md")
    return fine(PART, "we may write our keys")


async def _clock(redis: Redis) -> Finding:
    before = wall_clock()
    seconds, micros = await redis.time()
    now = (before + wall_clock()) / 2
    skew = abs(int(seconds) * SECOND + int(micros) / 1000 - now) / SECOND
    what = f"Redis's clock and this machine's differ by {skew:.1f} s"
    if skew * SECOND > SKEW_HARMFUL:
        return error(CLOCK, what, "set both by NTP: days would change at different times, signatures be refused")
    if skew * SECOND > SKEW_WARNED:
        return warning(CLOCK, what, "set both by NTP; max_lag has to cover the difference")
    return fine(CLOCK, what)


async def _engine(redis: Redis, settings: Settings) -> Finding:
    found: Any = await redis.hgetall(Keys(settings.prefix).engine)
    if not found:
        return warning(PART, "no engine is deciding (no heartbeat)", "start a worker, or see why it does not run")
    beat = str(found.get("at_ms", ""))
    if not (beat.isascii() and beat.isdigit()):
        return error(
            PART, "the engine's heartbeat cannot be read", "somebody else writes it: give gates a user of their own"
        )
    age = (wall_clock() - int(beat)) / SECOND
    if age > SILENT:
        return warning(PART, f"the engine was last heard of {age:,.0f} s ago", "see why no worker runs")
    workers = sum(str(name).startswith("worker:") for name in found)
    version = str(found.get("version", "?"))
    return fine(PART, f"{workers} worker(s) decide, version {version}, last heard of {age:.0f} s ago")


async def _strangers(redis: Redis, settings: Settings) -> list[Finding]:
    """Who else writes the keys of v6 gates: what stands there differs from what the engine wrote last, now or soon."""
    keys, found = Keys(settings.prefix, settings.legacy_prefix), set()
    models = [
        key.removeprefix(keys.legacy_written("")) async for key in redis.scan_iter(f"{keys.legacy_written('')}*", 500)
    ]
    for pause in (WATCH_SECONDS, 0.0):
        found |= {model for model in models if await _differs(redis, keys, model)}
        if pause and models:
            await asyncio.sleep(pause)
    remains = [
        key async for key in redis.scan_iter(f"{settings.legacy_prefix}limit:dynamic:volcengine:remaining:*", 500)
    ]
    advice = "switch off the gate's own sync thread: whoever writes last decides, and its number ignores the lag"
    findings = [error("gateways", f"somebody else writes the limit of {model}", advice) for model in sorted(found)]
    if remains:
        findings.append(
            note("gateways", f"{len(remains)} keys of gates older than v6 are there", "nobody of ours reads them")
        )
    return findings or (
        [fine("gateways", f"nobody else writes the limits of {len(models)} model(s)")] if models else []
    )


async def _differs(redis: Redis, keys: Keys, model: str) -> bool:
    last, balance, usage = (
        await redis.hgetall(keys.legacy_written(model)),
        await redis.get(keys.balance_at_sync(model)),
        await redis.get(keys.usage_at_sync(model)),
    )
    written = (last.get("balance"), last.get("usage"))
    return any(
        now is not None and then is not None and now != then
        for now, then in zip((balance, usage), written, strict=True)
    )
