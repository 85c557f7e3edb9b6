"""Replays with a hindsight on every model, and what really happened beside it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from rules.formulas import FORMULAS
from rules.hindsight import Hindsight, Seen
from rules.moment import MINUTE, Millis
from rules.policy import ModelTerms, Policy
from rules.records import Clock, Reading, Record, Refusal, Usage
from rules.replay import Replay, Replayed
from rules.simulation.kinds import KINDS
from rules.simulation.loop import START
from rules.simulation.provider import Provider
from rules.simulation.script import Script, draw
from streams.policy_file import default_rulebook, default_rules
from streams.recording import Recording

DAY: Millis = 24 * 60 * MINUTE
POLICY = Policy(rules=default_rules(), default=ModelTerms(daily_cap=20_000_000))
RULEBOOK = default_rulebook(POLICY)
ZONE = POLICY.calendar().zone


class Call(NamedTuple):
    """A call with what was charged of it."""

    at: Millis
    tokens: int
    charged: int


class Looker:
    """Keeps every ruling, and asks a hindsight."""

    def __init__(self) -> None:
        self.hindsight = Hindsight("model:m", FORMULAS)
        self.seen: list[Seen] = []

    def see(self, seen: Seen) -> None:
        self.seen.append(seen)
        self.hindsight.see(seen)

    def refuse(self, scope: str, refusal: Refusal) -> None:
        assert scope == self.hindsight.scope
        self.hindsight.refuse(refusal)


def look(records: Iterable[Record]) -> tuple[Looker, list[Replayed]]:
    """Replay under every formula."""
    looker = Looker()
    replay = Replay(POLICY, RULEBOOK, FORMULAS, looker)
    found = list(replay.run(records))
    replay.finish()
    looker.hindsight.finish()
    return looker, found


def recorded(path: Path) -> Iterator[Record]:
    return Recording([path], ZONE).records


def without_a_gate(kind: str, days: int, seed: int) -> tuple[list[Record], list[Call]]:
    """Days on which every call wanted is made: the records of it, and what was charged."""
    script = draw(KINDS[kind], days, Random(seed))
    provider, calls, records = Provider(script.kind, POLICY.default.daily_cap), [], []
    provider.grant(script.kind.pool, START - DAY)
    due, now = {}, START
    for at, what, detail in _happenings(script):
        while now + MINUTE <= at:
            now += MINUTE
            records.append(Clock(at=now))
        if what == 0:
            due[detail] = provider.turn_day()
        elif what == 1:
            provider.grant(due[detail], at)
        elif what == 2:
            provider.settle(detail)
        elif what == 3:
            before = provider.charged
            provider.consume(at, detail)
            calls.append(Call(at, detail, provider.charged - before))
            records.append(Usage(f"u{len(records)}", at, "m", detail))
        else:
            available, packages = provider.answer(at, detail)
            records.append(Reading(id=f"b{at}", at=at, model="m", available=available, source="api", packages=packages))
            records.append(Clock(at=at))
    return records, calls


def _happenings(script: Script) -> list[tuple[Millis, int, int]]:
    """Day changes, returns, batches, calls and readings in order of time."""
    return sorted(
        [
            *((START + day * DAY, 0, day - 1) for day in range(1, script.days)),
            *((at, 1, day) for day, at in enumerate(script.returns)),
            *((at, 2, until) for at, until in script.batches),
            *((at, 3, tokens) for at, tokens in script.calls),
            *((at, 4, residual) for at, residual in script.polls),
        ]
    )


class Truth(NamedTuple):
    """Of a formula: tokens charged that it let through, and free ones that it refused (while it had a limit)."""

    charged: int
    refused: int


def truth(calls: list[Call], seen: list[Seen], formula: str) -> Truth:
    """What each call was, beside the limit as it stood when the call was made."""
    times, count, charged, refused = [each.at for each in seen], 0, 0, 0
    for call in calls:
        before, count = count, count + call.tokens
        last = seen[max(0, bisect_right(times, call.at - 1) - 1)]
        limit, free_until = last.limits[formula], count - call.charged
        if limit is None:
            continue
        line = last.base + limit
        charged += max(0, min(count, line) - free_until)
        refused += max(0, free_until - max(before, line))
    return Truth(charged, refused)
