"""The vocabulary: what comes in from outside. Everything else in the core is a function of these records.

All are frozen. Times are instants in milliseconds (`rules.moment`), tokens are whole numbers.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rules.moment import Millis


class Usage(Struct, frozen=True, tag="usage", tag_field="type", gc=False):
    """One finished call. `at` is its end and decides the day. `total_tokens` is what the provider charges.

    Name the fields when you make one; only the hot path gives them by position, which takes a fifth of the time.
    """

    id: str
    at: Millis
    model: str
    total_tokens: int
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0  # part of prompt_tokens
    tenant: str = ""
    department: str = ""
    user: str = ""
    knowledge_base: str = ""
    key_hash: str = ""
    status: str = "success"
    cache_hit: bool = False  # answered from a cache: counts as a request, not as tokens
    estimated: bool = False
    source: str = ""
    today: int | None = None  # the gateway's own running total of the day after this call, for (model, key_hash)


class Package(Struct, frozen=True, kw_only=True):
    """One resource package as the provider lists it; `available` of `total` tokens are left."""

    id: str
    total: int
    available: int
    effective: Millis
    expires: Millis


class Reading(Struct, frozen=True, kw_only=True, tag="balance", tag_field="type"):
    """The provider's balance of one model: `available` tokens at `at`, with usage settled only up to some earlier
    instant."""

    id: str
    at: Millis
    model: str
    available: int
    asked_at: Millis | None = None  # when the question was sent; the answer's content lies between both
    source: str = ""
    settled_until: Millis | None = None
    packages: tuple[Package, ...] | None = None  # None: the source gives no list


class Calibration(Struct, frozen=True, kw_only=True, tag="calibration", tag_field="type"):
    """What the provider's console says the pool was when `day` began."""

    id: str
    at: Millis
    model: str
    day: str
    pool: int
    force: bool = False
    by: str = ""
    why: str = ""


class ControlAction(StrEnum):
    """What an operator can ask for."""

    KILL = "kill"
    RESUME = "resume"
    TOPUP = "topup"
    SET_QUOTA = "set_quota"
    BAN = "ban"
    UNBAN = "unban"
    FORGET = "forget"  # a user's name in what is kept of usage


class Control(Struct, frozen=True, kw_only=True, tag="control", tag_field="type"):
    """An operator's order, with who and why."""

    id: str
    at: Millis
    by: str
    why: str
    action: ControlAction
    scope: str
    tokens: int | None = None
    until: Millis | None = None


class Clock(Struct, frozen=True, kw_only=True, tag="clock", tag_field="type"):
    """In recordings: everything before `at` has been sent. The only clock of event mode."""

    at: Millis


class Refusal(Struct, frozen=True, kw_only=True, tag="refusal", tag_field="type"):
    """A call that a gateway says it refused (`[PRE-BLOCK]`); an observation, never usage."""

    id: str
    at: Millis
    model: str
    usage: int
    reserve: int
    limit: int


Record = Usage | Reading | Calibration | Control | Clock | Refusal


class Reason(StrEnum):
    """Why a record went to the dead letters. Label values of a metric: the list is closed."""

    NOT_JSON = "not_json"
    NOT_UTF8 = "not_utf8"
    TOO_LARGE = "too_large"
    UNKNOWN_TYPE = "unknown_type"
    MISSING_FIELD = "missing_field"
    WRONG_TYPE = "wrong_type"
    BAD_VALUE = "bad_value"
    BAD_TIME = "bad_time"
    BAD_LOG_LINE = "bad_log_line"
    WRONG_TOPIC = "wrong_topic"
    TOO_LATE = "too_late"
    IN_FUTURE = "in_future"
    WRONG_UNIT = "wrong_unit"


class Rejected(Struct, frozen=True):
    """A record that cannot be used, with the reason and a sentence for a person."""

    reason: Reason
    detail: str
