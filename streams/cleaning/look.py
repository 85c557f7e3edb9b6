"""Looks through Redis a little at a time, and says of each key of ours whether it should still be there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from blastdoor_gateway.contract import Action, Keys
from redis.asyncio import Redis

from rules.legacy import GATE_DAYS
from rules.moment import DAY, Millis
from rules.policy import Policy
from streams.cleaning.families import OF_MODELS, Family, families

STEP = 500  # keys looked at in one turn: well under a millisecond of Redis's time
SAMPLE = 20  # keys of a family whose size is asked
NO_END = -1
MODEL = "model:"


class Why(StrEnum):
    """What is wrong with a key."""

    PAST = "of a day long past"
    DEAD = "of a model that nobody decides on"
    ENDLESS = "without an end"


@dataclass(frozen=True, slots=True)
class Finding:
    """A key that should not be there, or not for ever. `life` 0: it goes; else it gets that end, in ms."""

    key: str
    why: Why
    life: Millis = 0


@dataclass(slots=True)
class Count:
    """How many keys a family has, and about how large they are."""

    keys: int = 0
    sampled: int = 0
    bytes: int = 0

    @property
    def about(self) -> int:
        """Bytes of all of them, by the sample."""
        return self.bytes * self.keys // self.sampled if self.sampled else 0


@dataclass(slots=True)
class Look:
    """What was found. `engine`: one is at work, so that a model without a decision is dead."""

    engine: bool
    findings: list[Finding] = field(default_factory=list)
    counts: dict[str, Count] = field(default_factory=dict)
    foreign: int = 0


async def look(redis: Redis, keys: Keys, policy: Policy, now: Millis) -> Look:
    """Look at every key there is. Nothing is changed."""
    known, today = families(keys), GATE_DAYS.day(now)
    found = Look(engine=bool(await redis.exists(keys.engine)))
    alive = await _alive(redis, keys, policy)
    async for name in _names(redis, ""):
        family = next((each for each in known if name.startswith(each.begin)), None)
        if family is None:
            found.foreign += 1
            continue
        await _count(redis, found.counts.setdefault(family.name, Count()), name)
        finding = await _judge(redis, family, name, today, alive if found.engine else None)
        if finding is not None:
            found.findings.append(finding)
    return found


async def clean(redis: Redis, findings: Iterable[Finding]) -> int:
    """Take away what may go and end what has no end; how many keys were changed. What got an end since keeps it."""
    changed = 0
    for finding in findings:
        if not finding.life:
            changed += int(await redis.unlink(finding.key))
        elif await redis.pttl(finding.key) == NO_END:
            changed += int(await redis.pexpire(finding.key, finding.life))
    return changed


async def _judge(redis: Redis, family: Family, name: str, today: str, alive: set[str] | None) -> Finding | None:
    rest = name.removeprefix(family.begin)
    if family.daily and _is_past(rest[:10], today):
        return Finding(name, Why.PAST)
    if alive is not None and family.name in OF_MODELS and rest not in alive:
        return Finding(name, Why.DEAD)
    if family.life is None or await redis.pttl(name) != NO_END:
        return None
    if family.name == "decision" and await redis.hget(name, "action") == Action.KILL.value:
        return None  # it must outlive any engine
    return Finding(name, Why.ENDLESS, family.life)


def _is_past(day: str, today: str) -> bool:
    """More than two days ago. What is no date is not judged by it."""
    try:
        return (date.fromisoformat(today) - date.fromisoformat(day)).days * DAY > 2 * DAY
    except ValueError:
        return False


async def _alive(redis: Redis, keys: Keys, policy: Policy) -> set[str]:
    """Every spelling of the models that something is decided about."""
    begin = keys.decision(MODEL)
    models = {name.removeprefix(begin) async for name in _names(redis, begin)}
    return models | {alias for alias, model in policy.aliases.items() if model in models}


async def _count(redis: Redis, count: Count, name: str) -> None:
    count.keys += 1
    if count.sampled < SAMPLE:
        size: Any = await redis.memory_usage(name)
        count.sampled += 1
        count.bytes += int(size or 0)


async def _names(redis: Redis, begin: str) -> AsyncIterator[str]:
    """Names that begin so, each once: a scan may show one twice."""
    seen: set[str] = set()
    literal = "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in begin)
    async for name in redis.scan_iter(f"{literal}*", STEP):
        if name not in seen:
            seen.add(name)
            yield name
