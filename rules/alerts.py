"""An alert as data: what happened, for which scope, with the numbers behind it. Senders turn it into words."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct

from rules.calendar import Day
from rules.day_book import DayBook
from rules.facts import Scope
from rules.moment import Millis


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Kind(StrEnum):
    """What an alert is about. Label values of a metric: the list is closed."""

    THRESHOLD = "threshold"  # used reached a share of the limit
    RULE = "rule"  # a rule with `alert:` began to decide
    LAG_BOUND_BROKEN = "lag_bound_broken"
    UNEXPLAINED = "unexplained"  # the pool fell without metered usage
    UNSEEN_ARRIVAL = "unseen_arrival"
    RETURN_OVERDUE = "return_overdue"
    USAGE_WITHOUT_READINGS = "usage_without_readings"
    READINGS_WITHOUT_USAGE = "readings_without_usage"
    FOREIGN_WRITE = "foreign_write"
    CALIBRATION_CONFLICT = "calibration_conflict"
    CALIBRATED = "calibrated"  # an operator set the pool
    ARRIVAL = "arrival"  # a package or a higher balance came
    EXPIRED = "expired"  # a package ended with tokens left
    CLOCKS_APART = "clocks_apart"  # records carry times that do not fit their receipt
    USAGE_MISSING = "usage_missing"  # gateways counted calls that never reached us
    EXPIRING = "expiring"  # a package will end with tokens left at the present rate of use
    CHARGED = "charged"  # tokens probably went beyond the free pool
    UNPRICED = "unpriced"  # a model without a price was used
    BLOCK_IGNORED = "block_ignored"  # usage goes on although calls are to be refused
    GATE_OPEN = "gate_open"  # a gate says that it lets calls through unasked
    ENGINE_BEHIND = "engine_behind"  # usage is not known up to now
    DEAD_LETTERS = "dead_letters"  # records that cannot be read become more
    TENANTS_CROWDED = "tenants_crowded"  # more tenants than get sheets of their own
    REDIS_UNREACHABLE = "redis_unreachable"
    REDIS_GROWING = "redis_growing"
    POLICY_REFUSED = "policy_refused"  # a changed policy file holds a mistake: the old one stays in force
    DIGEST = "digest"  # the books of all scopes for one day
    POLL_STOPPED = "poll_stopped"  # a provider refuses to be asked until the operator acts
    TEST = "test"
    RECOVERED = "recovered"  # what an earlier alert told is over


class Ended(Struct, frozen=True, kw_only=True):
    """An earlier alert whose condition is over, with what a receiver needs to find it."""

    id: str
    kind: Kind
    severity: Severity
    threshold: float | None = None
    rule: str = ""


class Alert(Struct, frozen=True, kw_only=True):
    """`id` is the same for every delivery of one occurrence, so a receiver can tell a repeat."""

    id: str
    kind: Kind
    severity: Severity
    scope: Scope
    at: Millis
    window: Day
    threshold: float | None = None  # of THRESHOLD: the share reached
    grant: int = 0  # opens a new round within a window: a return, top-up or new quota
    used: int | None = None
    limit: int | None = None
    unit: str = ""  # the currency of `used` and `limit`, which then are nano-units; empty: they are tokens
    pool_low: int | None = None
    pool_high: int | None = None
    charged_high: int | None = None
    rule: str = ""
    reason: str = ""
    details: dict[str, str] = {}
    again: int = 0  # how often the same has been told before: a condition that lasts is repeated now and then
    ends: tuple[Ended, ...] = ()
    until: Millis | None = None  # when it ends by itself, at the latest
    books: tuple[DayBook, ...] = ()  # of DIGEST: the day of every scope, the most used first


def alert_id(scope: Scope, window: Day, what: str, grant: int) -> str:
    """SHA-256 over what makes an occurrence unique; `what` is the threshold or the kind."""
    return hashlib.sha256(f"{scope}|{window}|{what}|{grant}".encode()).hexdigest()
