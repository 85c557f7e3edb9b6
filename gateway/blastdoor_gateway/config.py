"""What the operator decides about a gate. Everything has a default; what is None is no limit.

Rule 1: a limit that cannot be meant (negative, no number) raises ConfigError when it is written, not when it bites.
Rule 2: for every layer it is said here which way it falls when Redis or the engine cannot be asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from blastdoor_gateway.calendar import HOUR, MINUTE, SECOND, Millis
from blastdoor_gateway.money import Nano, Price

MOST_TOKENS = 10**9
"""No call comes near. Products with prices stay exact in the scripts below it."""

_PER = {"s": SECOND, "sec": SECOND, "min": MINUTE, "h": HOUR, "hour": HOUR}


class ConfigError(ValueError):
    """The operator's configuration cannot be meant."""


def _require(true: bool, what: str) -> None:
    if not true:
        msg = f"cannot be meant: {what}"
        raise ConfigError(msg)


class Mode(StrEnum):
    """Whether what is decided binds."""

    ENFORCE = "enforce"
    OBSERVE = "observe"  # decide and report, but let pass


class Falls(StrEnum):
    """Which way a layer falls when what it needs is not there."""

    OPEN = "open"  # the call goes on as if the layer were not there
    CLOSED = "closed"  # the call is refused


class Over(StrEnum):
    """What happens to calls beyond a tenant's budget."""

    DEGRADE = "degrade"  # answer from the static path
    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `calls` at once, and one more every `per / calls` (ms)."""

    calls: int
    per: Millis = MINUTE

    def __post_init__(self) -> None:
        _require(self.calls > 0 and self.per > 0, f"a rate of {self.calls} calls in {self.per} ms")

    @classmethod
    def of(cls, text: str) -> Rate:
        """From `10/min`; also `s` and `h`. Raises ConfigError."""
        found = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(s|sec|min|h|hour)\s*", text)
        if found is None:
            msg = f"a rate is written like 10/min, not {text!r}"
            raise ConfigError(msg)
        return cls(int(found[1]), _PER[found[2]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a tenant may use, in tokens. Where the engine publishes a ceiling for it, that one counts instead."""

    daily_tokens: int | None = None
    monthly_tokens: int | None = None
    over: Over = Over.DEGRADE

    def __post_init__(self) -> None:
        for tokens in (self.daily_tokens, self.monthly_tokens):
            _require(tokens is None or tokens >= 0, f"a budget of {tokens} tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a day may cost, in nano-units, and prices where the engine publishes none.

    `assumed`: the price of a model that has none anywhere; it is on the dear side, and every such call is counted in
    `blastdoor_gate_unpriced_total`. `basis`: `list`, every token costs; `charged`, those beyond the free pool.
    """

    daily: Nano | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    assumed: Price = field(default_factory=lambda: Price.of(20, 60))
    basis: str = "list"

    def __post_init__(self) -> None:
        _require(self.daily is None or self.daily >= 0, f"a daily spend of {self.daily}")
        _require(self.basis in {"list", "charged"}, f"a spend's basis is list or charged, not {self.basis!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What holds where the engine's decisions are not there or not fresh."""

    unknown: Falls = Falls.CLOSED  # no decision about a model, or one that says `unknown`
    silent: Falls = Falls.CLOSED  # after `grace` without a heartbeat; until then limits are kept with live counters
    stale_after: Millis = 30 * SECOND
    grace: Millis = 15 * MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Which way each layer falls when Redis does not answer within `Gate.wait_seconds`.

    A closed layer still lets through, for `grace_seconds` after Redis was last heard, what fits into `grace_share` of
    the room known then: a hiccup refuses nobody, an outage cannot spend more than that share per process.
    """

    kill: Falls = Falls.CLOSED
    rate: Falls = Falls.OPEN
    budget: Falls = Falls.CLOSED
    model: Falls = Falls.CLOSED
    spend: Falls = Falls.CLOSED
    grace_seconds: float = 5.0
    grace_share: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """All of it. `engine` None: the gate stands alone, and only its own limits hold."""

    prefix: str = "blastdoor"
    timezone: str = "Asia/Shanghai"
    day_starts: str = "00:00"
    mode: Mode = Mode.ENFORCE
    per_ip: Rate | None = Rate(10)
    per_user: Rate | None = Rate(10)
    default: Budget = Budget()
    tenants: Mapping[str, Budget] = field(default_factory=dict)
    spend: Spend | None = Spend()  # None: no layer, only the kill switch
    engine: Engine | None = Engine()
    failure: Failure = Failure()
    aliases: Mapping[str, str] = field(default_factory=dict)
    proxies: tuple[str, ...] = ()  # networks whose X-Forwarded-For is believed
    most_estimate: int = 131_072  # tokens; what a call is taken to use at most when it does not say
    lease: Millis = 10 * MINUTE  # a reservation that nobody settles is given back after this; longer than any call
    recognise: Millis = HOUR  # how long a repeated settle is recognised; about 100 bytes of Redis for each call
    answers_live: Millis = 5 * MINUTE
    longest_answer: int = 65_536  # characters; longer ones are not kept
    wait_seconds: float = 0.05
    legacy: bool = True  # keep daily_usage and quota:tenant keys and write the log lines of older gateways

    def __post_init__(self) -> None:
        _require(self.lease <= 24 * HOUR, f"a lease of {self.lease} ms: a day at most")
        _require(0 < self.most_estimate <= MOST_TOKENS, f"most_estimate: {self.most_estimate}")
        _require(
            self.lease > 0 and self.recognise > 0 and self.wait_seconds > 0, "lease, recognise and wait are lengths"
        )

    def budget(self, tenant: str) -> Budget:
        """The budget of a tenant; one never seen has the default."""
        return self.tenants.get(tenant, self.default)

    def canonical(self, model: str) -> str:
        """The one name that all spellings of a model share."""
        return self.aliases.get(model, model)
