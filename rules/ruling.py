"""What was ruled about a scope at an instant, with every number behind it. Publishing turns it into a decision key,
`explain` into words."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from rules.calendar import Day
from rules.facts import Scope
from rules.moment import MINUTE, Millis
from rules.policy import Mode, Policy
from rules.pool_state import NO_POOL, Bounds
from rules.rulebook import Asked, Verdict, Would
from rules.saying import OBSERVED

# How often a ruling in which only `used` moved is written into the history. Redis always holds the newest.
HEARTBEAT: Millis = MINUTE

PUBLISHED = {"ban": "kill"}
"""What gates are told: to them a ban is the kill of one user or address."""


class Ruling(Struct, frozen=True, kw_only=True):
    """`limit` and `used` count from the start of `day`; `base` is what the counter stood at then. Pool ends inside
    `bounds` are cumulative. In the scope `global` these numbers and `guarded` are money, in nano-units."""

    scope: Scope
    at: Millis
    day: Day
    until: Millis | None  # None: only an operator ends it
    action: str
    rule: str
    reason: str
    told: str = ""  # the same in the language of alerts
    severity: str | None
    formula: str
    policy: str
    wall: str
    limit: int | None
    used: int
    base: int
    counter: str
    guarded: dict[Day, int]
    failed: tuple[str, ...] = ()  # rules that could not be evaluated: `name: cause`
    asked: tuple[Asked, ...] = ()  # rules that hold and ask for an alert
    would: tuple[Would, ...] = ()  # rules under trial that fire, and bind nobody
    observed: bool = False  # the policy only observes: no gateway is to hold calls against the numbers
    prices: dict[str, int] = {}  # of a model, as a decision carries them
    basis: str = ""
    soft: bool = False  # going beyond the limit is told and nothing else: gates hold no call against it
    windows: dict[str, int] = {}  # of a tenant: used and limit of its day and month; absent: no limit
    unit: str = ""  # the currency of `limit` and `used` in nano-units; empty: they are tokens
    orders: tuple[str, ...] = ()  # ids of the newest orders about the scope that were taken, oldest first
    money: dict[str, int] = {}  # of a model's day, in nano-units: charged_low, charged_high, list
    bounds: Bounds = NO_POOL

    @property
    def pool_low(self) -> int | None:
        """Tokens the day has at least: used so far + certainly remaining."""
        return None if self.bounds.pool_low is None else self.bounds.pool_low - self.base

    @property
    def pool_high(self) -> int | None:
        """Tokens the day has at most."""
        return None if self.bounds.pool_high is None else self.bounds.pool_high - self.base


def ruled(verdict: Verdict, policy: Policy, **known: Any) -> Ruling:
    """The ruling of a verdict under a policy. `known`: the fields that neither of them says; numbers left out are
    nothing."""
    action = PUBLISHED.get(verdict.action, verdict.action)
    observing = policy.mode is Mode.OBSERVE
    would = {name: text.format(action=verdict.action) if observing else "" for name, text in OBSERVED.items()}
    numbers: dict[str, Any] = {"limit": None, "used": 0, "base": 0, "guarded": {}, "formula": "", "wall": ""}
    return Ruling(
        action="allow" if observing else action,
        observed=observing,
        rule=verdict.rule,
        reason=would["en"] + verdict.reason,
        told=would[policy.alerts.language] + verdict.told,
        severity=verdict.severity,
        policy=policy.hash,
        failed=verdict.failed,
        asked=verdict.asked,
        would=verdict.would,
        **(numbers | known),
    )


def changed(before: Ruling | None, after: Ruling) -> bool:
    """Whether anything but the time differs: then the decision key is written anew."""
    return before is None or before.used != after.used or _numbers(before) != _numbers(after)


def is_history(before: Ruling | None, after: Ruling) -> bool:
    """Whether the ruling belongs into the history: something other than `used` moved, or the last entry is a minute
    old."""
    if before is None or _verdict(before) != _verdict(after):
        return True
    return after.at - before.at >= HEARTBEAT and changed(before, after)


def _numbers(ruling: Ruling) -> tuple[object, ...]:
    return (*_verdict(ruling), ruling.used, ruling.reason, ruling.base, ruling.guarded, ruling.bounds, ruling.money)


def _verdict(ruling: Ruling) -> tuple[object, ...]:
    bounds = ruling.bounds
    return (
        ruling.day,
        ruling.action,
        ruling.rule,
        ruling.wall,
        ruling.limit,
        ruling.formula,
        ruling.policy,
        ruling.pool_low,
        ruling.pool_high,
        bounds.lag_bound,
        bounds.latest,
        ruling.counter,
        ruling.until,
        tuple(would.rule for would in ruling.would),
        tuple(failure.partition(":")[0] for failure in ruling.failed),
        ruling.prices,
        ruling.basis,
    )
