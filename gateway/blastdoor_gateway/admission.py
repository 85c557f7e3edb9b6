"""What is asked of a gate and what it answers. All frozen; nothing here talks to anybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.money import Nano, Price


class Do(StrEnum):
    """What the gateway is to do with a call."""

    PROCEED = "proceed"
    DEGRADE = "degrade"  # do not call the model; answer from the static path
    REJECT = "reject"


class Layer(StrEnum):
    """Which layer spoke. In this order they are asked; the first refusal wins."""

    REQUEST = "request"
    KILL = "kill"
    RATE = "rate"
    BUDGET = "budget"
    CACHE = "cache"
    MODEL = "model"
    SPEND = "spend"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call that wants in. `tokens`: what is reserved for it."""

    request_id: str
    model: str
    tenant: str = ""
    user: str = ""
    address: str = ""
    tokens: int = 1
    key_hash: str = "none"  # of the API key, for older counters
    answers: tuple[str, ...] = ()  # digests under which an answer may lie: to the same question, to a near one


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a call was let in on; `settle` needs it."""

    day: str = ""  # the reservation belongs to this day and its month, whenever it is settled
    month: str = ""
    held: bool = False  # something was reserved in Redis
    money: Nano | None = None  # reserved of the day's spend; None: it is not limited
    free: int = 0  # of the reserved tokens those that cost nothing
    price: Price | None = None
    counters: dict[str, str] = field(default_factory=dict)
    limit: int | None = None  # the model's, for the log line


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The gate's answer. Where `allowed` is false, `action` says whether a static answer may be given instead.

    `retry_after`: seconds, None where time alone changes nothing. `remaining`: tokens left in the tightest limit, None
    where there is none. `observed`: it would have been refused, but the gate only observes. `local`: Redis could not be
    asked.
    """

    request: Request
    allowed: bool
    action: Do
    layer: Layer | None = None
    rule: str = ""
    reason: str = ""
    retry_after: float | None = None
    remaining: int | None = None
    warnings: tuple[str, ...] = ()
    answer: str | None = None  # from the cache; the call is not to be made
    observed: bool = False
    local: bool = False
    at: Millis = 0
    terms: Terms = Terms()

    @property
    def request_id(self) -> str:
        return self.request.request_id


class Outcome(StrEnum):
    """What became of a settlement."""

    SETTLED = "settled"
    REPEATED = "repeated"  # it had been settled before: nothing was counted twice
    KEPT = "kept"  # Redis could not be asked; it is kept and sent when Redis answers again
    LOST = "lost"  # too many are kept already; the engine counts the call from its event, the gate does not
    INVALID = "invalid"  # not a number of tokens: the reservation stays until its lease ends
    NOTHING = "nothing"  # there was nothing to settle: the call was refused, or answered from the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a settled call counted. `used_today`: of the tenant, in the day of the reservation."""

    outcome: Outcome
    tokens: int = 0
    money: Nano = 0
    used_today: int | None = None
    at: Millis = 0  # when; an event about the call must say the same, for both decide its day


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A day or month of a tenant: used + held + remaining = granted. None granted: no limit."""

    used: int
    held: int
    granted: int | None

    @property
    def remaining(self) -> int | None:
        """Below zero when calls used more than they had reserved."""
        return None if self.granted is None else self.granted - self.used - self.held


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a tenant stands."""

    day: Window
    month: Window


class Outage(StrEnum):
    """Why Redis could not be asked."""

    SLOW = "slow"  # no answer within the time allowed
    DOWN = "down"  # no connection
    ERROR = "error"  # it answered with an error: out of memory, a replica, a script that failed
    PAUSED = "paused"  # it failed several times; it is not asked for a moment
