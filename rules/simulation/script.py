"""Everything that chance decides, drawn before the first call: so that each formula faces the very same days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from rules.moment import DAY, HOUR, MINUTE, SECOND, Millis
from rules.simulation.kinds import Kind

START: Millis = 1_785_168_000_000  # 2026-07-28T00:00:00+08:00, and whole days on from there

# Share of a day's demand by hour of the day: an office's rhythm.
RHYTHM = (1, 1, 1, 1, 1, 1, 2, 3, 8, 14, 16, 14, 8, 12, 15, 16, 14, 12, 8, 6, 6, 5, 3, 2)
CALLS_A_DAY = 1_200
BURST: Millis = 14 * MINUTE


class Chance(Protocol):
    """Where chance comes from: a seeded `random.Random`, made outside the core."""

    def randint(self, a: int, b: int) -> int: ...

    def randrange(self, start: int) -> int: ...

    def lognormvariate(self, mu: float, sigma: float) -> float: ...

    def choices(self, population: Sequence[int], weights: Sequence[float]) -> list[int]: ...


class Script(Struct, frozen=True, kw_only=True):
    """The outer world of one model for some days, each list in order of time."""

    kind: Kind
    days: int
    calls: list[tuple[Millis, int]]  # wanted: (end, tokens)
    polls: list[tuple[Millis, int]]  # (time, residual of the answer)
    batches: list[tuple[Millis, Millis]]  # (time, usage settled up to)
    returns: list[Millis]  # when the package for the day before comes, day by day


def metered_since(kind: Kind) -> Millis:
    """When metering begins, and with it everything we see."""
    return START - HOUR if kind.start_hour is None else START + round(kind.start_hour * HOUR)


def draw(kind: Kind, days: int, chance: Chance) -> Script:
    """The script of `days` days."""
    calls = sorted(call for day in range(days) for call in _calls(kind, START + day * DAY, chance))
    return Script(
        kind=kind,
        days=days,
        calls=calls,
        polls=[
            (at, chance.randint(-kind.residual, kind.residual))
            for at in _steps(metered_since(kind), days, kind.poll, chance)
        ],
        batches=list(_batches(kind, days, chance)),
        returns=[START + day * DAY + chance.randint(*kind.returns) for day in range(1, days)],
    )


def _calls(kind: Kind, midnight: Millis, chance: Chance) -> Iterator[tuple[Millis, int]]:
    """Calls of many sizes, most of them by the rhythm of the day and some in bursts."""
    wanted = kind.demand * kind.pool
    in_bursts = 0.04 * kind.bursts
    for _ in range(round(CALLS_A_DAY * (1 - in_bursts))):
        hour = chance.choices(range(24), RHYTHM)[0]
        yield midnight + hour * HOUR + chance.randrange(HOUR), _size(wanted, chance)
    for _ in range(kind.bursts):
        begin = midnight + chance.randrange(DAY - BURST)
        for _ in range(round(CALLS_A_DAY * 0.04)):
            yield begin + chance.randrange(BURST), _size(wanted, chance)


def _size(wanted: float, chance: Chance) -> int:
    """Lognormal, the mean such that a day makes `wanted`; a few calls are twenty times the median."""
    return max(1, min(60_000, round(chance.lognormvariate(-0.5, 1.0) * wanted / CALLS_A_DAY)))


def _steps(begin: Millis, days: int, span: tuple[Millis, Millis], chance: Chance) -> Iterator[Millis]:
    at = max(begin, START) + SECOND
    while at < START + days * DAY:
        yield at
        at += chance.randint(*span)


def _batches(kind: Kind, days: int, chance: Chance) -> Iterator[tuple[Millis, Millis]]:
    """Settlement goes forward only, and not at all during a stall."""
    settled = 0
    stall = kind.stall or (0.0, 0.0)
    for at in _steps(START, days, kind.period, chance):
        settled = max(settled, at - chance.randint(*kind.delay))
        if not START + stall[0] * DAY <= at < START + stall[1] * DAY:
            yield at, settled
