"""Tries every configured layer before the first call: a limit that is written down but never asked limits nobody.

Each trial asks the same scripts in the same Redis, under a prefix of its own (`<prefix>-selftest`), for a call that its
layer must not let through. Nothing of it reaches counters, logs or metrics of real calls, and every key ends by itself.

Which way it falls: a layer that lets its trial pass is an error, and who starts a gateway should not go on. A Redis
that cannot be asked proves nothing; what holds then stands in `config.Failure`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import uuid4

from blastdoor_gateway.admission import Layer, Outage, Request
from blastdoor_gateway.answers import Fields
from blastdoor_gateway.calendar import HOUR, SECOND, Millis
from blastdoor_gateway.config import Budget, Engine, Gate, Over, Rate, Spend
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.memory import Memory
from blastdoor_gateway.questions import Questions
from blastdoor_gateway.scripts import PLANT, Call, call_of

log = logging.getLogger("blastdoor.gate")

RULE = "self-test"


class SelfTestError(RuntimeError):
    """A configured layer let through what it must refuse."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one trial. `passed` None: it could not be made, `said` tells why."""

    check: str
    passed: bool | None
    said: str = ""


class Trial(NamedTuple):
    """A call, asked `times`, the last of which `layer` must refuse. `planted`: a kill switch stands there."""

    check: str
    layer: Layer
    gate: Gate
    request: Request
    times: int = 1
    planted: bool = False


def trials(gate: Gate) -> Iterator[Trial]:
    """One for each thing that the operator configured."""
    bare = replace(
        gate, prefix=f"{gate.prefix}-selftest", legacy=False, lease=SECOND, recognise=SECOND,
        per_ip=None, per_user=None, default=Budget(), tenants={}, spend=None, engine=None,
    )  # fmt: skip
    name = uuid4().hex
    request = Request(request_id=name, model=name, user=name)
    yield Trial("kill", Layer.KILL, bare, replace(request, user=f"killed-{name}"), planted=True)
    if gate.per_ip is not None:
        address = f"fd00:{name[:4]}:{name[4:8]}:{name[8:12]}::1"
        asked = Request(request_id=name, model=name, address=address)
        yield Trial("per_ip", Layer.RATE, replace(bare, per_ip=Rate(1, HOUR)), asked, times=2)
    if gate.per_user is not None:
        yield Trial("per_user", Layer.RATE, replace(bare, per_user=Rate(1, HOUR)), request, times=2)
    for window, limit in _budgets(gate).items():
        budget = Budget(**{f"{window}_tokens": limit}, over=Over.BLOCK)
        asked = Request(request_id=name, model=name, tenant=name, tokens=limit + 1)
        yield Trial(f"{window}_tokens", Layer.BUDGET, replace(bare, default=budget), asked)
    if gate.engine is not None:
        yield Trial("model", Layer.MODEL, replace(bare, engine=Engine()), request)
    if gate.spend is not None and gate.spend.daily is not None:
        yield Trial("spend", Layer.SPEND, replace(bare, spend=Spend(daily=0)), request)


def run_trials(gate: Gate, now: Millis) -> Generator[Call, Fields | Outage, tuple[Checked, ...]]:
    """Yields calls of scripts, is sent their answers."""
    checked: tuple[Checked, ...] = ()
    for trial in trials(gate):
        checked = (*checked, (yield from _try(trial, now)))
    return checked


def require(checked: tuple[Checked, ...]) -> tuple[Checked, ...]:
    """The same. Raises SelfTestError for layers that let their trial pass."""
    failed = [f"{found.check} ({found.said})" for found in checked if found.passed is False]
    if failed:
        msg = f"configured, but not held against calls: {', '.join(failed)}"
        raise SelfTestError(msg)
    return checked


def report(checked: tuple[Checked, ...]) -> None:
    """One line for the log."""
    unknown = [f"{found.check} ({found.said})" for found in checked if found.passed is None]
    if unknown:
        log.warning("self-test: could not be tried: %s", ", ".join(unknown))
    else:
        log.info("self-test: asked before every call: %s", ", ".join(found.check for found in checked))


def _try(trial: Trial, now: Millis) -> Generator[Call, Fields | Outage, Checked]:
    keys = Keys(trial.gate.prefix)
    questions = Questions(trial.gate, keys, Memory(), fixed_clock=False)
    found: Fields | Outage = {}
    if trial.planted:
        scope = f"user:{trial.request.tenant}/{trial.request.user}"
        found = yield call_of(PLANT, {"decision": keys.decision(scope)}, {"now": 0, "rule": RULE})
    for number in range(trial.times):
        if not isinstance(found, Outage):
            request = replace(trial.request, request_id=f"{trial.request.request_id}-{number}")
            found = yield questions.admit(request, questions.counters(request), now)
    if isinstance(found, Outage):
        return Checked(trial.check, None, f"Redis: {found.value}")
    refused = found["status"] == "refused" and found["layer"] == trial.layer
    said = found.get("rule", "") if refused else f"{found['status']} {found.get('layer', '')}".strip()
    return Checked(trial.check, refused, said)


def _budgets(gate: Gate) -> dict[str, int]:
    """The first day and the first month that are limited for anybody."""
    found: dict[str, int] = {}
    for budget in (gate.default, *gate.tenants.values()):
        for window, limit in (("daily", budget.daily_tokens), ("monthly", budget.monthly_tokens)):
            if limit is not None:
                found.setdefault(window, limit)
    return found
