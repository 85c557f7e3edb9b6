"""How admit.lua is asked: keys and arguments by place, in the order that the script has them.

What calls of the same caller to the same model have in common is put together once and kept; the rest is an id, an
amount and what this process has seen of the counts.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import NamedTuple

from blastdoor_gateway.admission import Request
from blastdoor_gateway.calendar import Windows
from blastdoor_gateway.config import Budget, Engine, Falls, Gate, Rate
from blastdoor_gateway.scripts import Words

KEYS = (
    "seen", "own_model_today", "own_model_yesterday", "own_tenant_today", "own_tenant_yesterday", "own_global_today",
    "own_global_yesterday", "budget_day", "budget_month", "budget_global", "rate_ip", "rate_user", "topups_day",
    "topups_month", "held_tenant", "held_model", "held_global", "quota",
)  # fmt: skip
"""Keys that the script may write, after the one that never exists and before those of the one call."""

READ = ("decision_model", "decision_tenant", "decision_global", "decision_user", "heartbeat",
        "decision_ip_1", "decision_ip_2", "decision_ip_3")  # fmt: skip
"""Keys that it only reads. They are not declared to Redis: a gate's user may not write them."""

COUNTS = ("budget_day", "budget_month", "budget_global")
"""Keys of counts that never shrink."""

COUNTERS = ("model", "tenant", "global")
"""Scopes in which the engine counts."""

RULES = struct.Struct("<15d")
CALL = struct.Struct("<5d")

_NO_ENGINE = Engine(unknown=Falls.OPEN, silent=Falls.OPEN)


class Common(NamedTuple):
    """What calls of one kind have in common. `counts`: see COUNTS; None where a count does not concern them."""

    nobody: str
    keys: Words
    args: Words
    counts: tuple[str | None, ...]

    def own_keys(self, settled: str, answers: tuple[str, ...]) -> Words:
        """Keys of one call: by which it is known again, and under which an answer to it may lie."""
        return Words.of(settled, *(*answers, self.nobody, self.nobody)[:2])


def common_of(
    gate: Gate, keys: Mapping[str, str], nobody: str, request: Request, when: Windows, counters: Mapping[str, str]
) -> Common:
    """`keys` by name; `nobody` is a key that never exists."""
    budget, engine = gate.budget(request.tenant), gate.engine or _NO_ENGINE
    price, priced = _price(gate, request.model)
    args = Words.of(
        RULES.pack(*_limits(gate, budget, engine, when), *price), when.day, when.yesterday, budget.over, engine.unknown,
        engine.silent, "" if gate.spend is None else gate.spend.basis, priced,
        *(counters.get(name, "") for name in COUNTERS), *(keys.get(name, nobody) for name in READ),
    )  # fmt: skip
    declared = Words.of(nobody, *(keys.get(name, nobody) for name in KEYS))
    return Common(nobody, declared, args, tuple(keys.get(name) for name in COUNTS))


def _limits(gate: Gate, budget: Budget, engine: Engine, when: Windows) -> tuple[float, ...]:
    daily = None if gate.spend is None else gate.spend.daily
    return (
        gate.lease, when.day_ends, when.month_ends, _or_none(budget.daily_tokens), _or_none(budget.monthly_tokens),
        *_pace(gate.per_ip), *_pace(gate.per_user), engine.stale_after, engine.grace, _or_none(daily),
    )  # fmt: skip


def _price(gate: Gate, model: str) -> tuple[tuple[int, int, int], str]:
    """What the gate itself knows a model to cost, or assumes."""
    if gate.spend is None:
        return (0, 0, 0), ""
    known = gate.spend.prices.get(model)
    price = known or gate.spend.assumed
    return (price.input, price.output, price.cached_input), "gate" if known else "assumed"


def _pace(rate: Rate | None) -> tuple[int, int]:
    """µs that one call takes, and how many fit at once."""
    return (0, 0) if rate is None else (-(-rate.per * 1000 // rate.calls), rate.calls)


def _or_none(limit: int | None) -> float:
    return math.inf if limit is None else limit
