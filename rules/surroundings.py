"""What blastdoor stands on, looked at now and then: dead letters, Redis, gates. Samples in, conditions out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from rules.alerts import Kind, Severity
from rules.episodes import Condition
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.policy import Watch

RISE_WITHIN: Millis = 10 * MINUTE  # dead letters are counted over this time
AWAY_AFTER: Millis = MINUTE  # Redis may restart
GROWTH = 2  # times the least of a day, where Redis has no bound of its own
FLOOR = 256 * 1024 * 1024  # bytes below which growth worries nobody
MEGABYTE = 1024 * 1024


class Memory(Struct, frozen=True):
    """What Redis says of its memory, in bytes. `most` 0: no bound."""

    used: int
    most: int


class Gate(Struct, frozen=True):
    """A gate process that says it lets calls through unasked, and how many since it began to."""

    name: str
    calls: int
    why: str = ""


class Sample(Struct, frozen=True, kw_only=True):
    """One look. None: it could not be found out."""

    at: Millis
    dead_letters: int | None = None  # on the topic in all, ever
    memory: Memory | None = None
    redis_away: bool = False
    gates: tuple[Gate, ...] = ()
    policy: str = ""  # why the policy file as it is now is not in force


class Surroundings(Struct, kw_only=True):
    """What is remembered between two looks. `lows`: the least memory of each hour of the last day."""

    letters: list[tuple[Millis, int]] = []
    lows: dict[int, int] = {}
    away_since: Millis = 0
    gates: tuple[Gate, ...] = ()
    memory: Memory | None = None
    policy: str = ""

    def add(self, sample: Sample) -> None:
        """Take a look in."""
        self.policy = sample.policy
        if sample.dead_letters is not None:
            self.letters.append((sample.at, sample.dead_letters))
        self.letters = [(at, count) for at, count in self.letters if at >= sample.at - RISE_WITHIN]
        self.away_since = (self.away_since or sample.at) if sample.redis_away else 0
        if sample.redis_away:
            return
        self.gates, self.memory = sample.gates, sample.memory
        if sample.memory is not None:
            hour = sample.at // HOUR
            self.lows[hour] = min(self.lows.get(hour, sample.memory.used), sample.memory.used)
            self.lows = {known: low for known, low in self.lows.items() if known > hour - DAY // HOUR}


def conditions(known: Surroundings, watch: Watch, now: Millis) -> Iterator[Condition]:
    """What holds now."""
    risen = sum(max(0, later - earlier) for (_, earlier), (_, later) in pairwise(known.letters))
    if risen >= watch.dead_letters:
        minutes = RISE_WITHIN // MINUTE
        reason = f"{risen:,} records could not be read within {minutes} minutes"
        yield _condition(Kind.DEAD_LETTERS, Severity.WARNING, reason, {"records": str(risen)})
    if known.policy:
        reason = f"the changed policy file is not in force: {known.policy}"
        yield _condition(Kind.POLICY_REFUSED, Severity.WARNING, reason, {})
    if known.away_since and now - known.away_since >= AWAY_AFTER:
        reason = f"no answer for {(now - known.away_since) // MINUTE} min"
        yield _condition(Kind.REDIS_UNREACHABLE, Severity.CRITICAL, reason, {})
    elif not known.away_since:
        yield from _growing(known, watch)
        yield from _open(known.gates)


def _growing(known: Surroundings, watch: Watch) -> Iterator[Condition]:
    memory = known.memory
    if memory is None:
        return
    used = memory.used // MEGABYTE
    numbers = {"megabytes": str(used)}
    low = min(known.lows.values(), default=memory.used)
    if memory.most and memory.used >= watch.redis_memory * memory.most:
        reason = f"{used:,} of {memory.most // MEGABYTE:,} MB are used"
        yield _condition(Kind.REDIS_GROWING, Severity.CRITICAL, reason, numbers)
    elif not memory.most and memory.used >= max(FLOOR, GROWTH * low):
        reason = f"{used:,} MB are used, {low // MEGABYTE:,} MB were within the last day; there is no maxmemory"
        yield _condition(Kind.REDIS_GROWING, Severity.WARNING, reason, numbers)


def _open(gates: tuple[Gate, ...]) -> Iterator[Condition]:
    if gates:
        names = ", ".join(f"{gate.name} ({gate.why})" if gate.why else gate.name for gate in gates[:3])
        more = f" and {len(gates) - 3} more" if len(gates) > 3 else ""
        calls = sum(gate.calls for gate in gates)
        reason = f"{calls:,} calls passed unasked at {names}{more}"
        yield _condition(Kind.GATE_OPEN, Severity.CRITICAL, reason, {"calls": str(calls)})


def _condition(kind: Kind, severity: Severity, reason: str, details: dict[str, str]) -> Condition:
    return Condition(what=kind.value, kind=kind, severity=severity, reason=reason, details=details)
