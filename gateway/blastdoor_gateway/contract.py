"""The contract between the engine and a gateway: Redis key names and the encoding of a decision.

The engine imports this very file, so the two sides cannot drift apart. Standard library only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")

SCHEMA = 1
"""Version of the decision's fields. A reader that meets a higher one must refuse to guess."""

DECISION_TTL_SECONDS = 48 * 3600

HEARTBEAT_TTL_SECONDS = 30
"""How long `Keys.engine` outlives its last refresh, which comes every 5 s. Missing or old: no engine is deciding."""


class Action(StrEnum):
    """What the gateway is to do with calls of a scope, mildest first."""

    ALLOW = "allow"
    WARN = "warn"
    DEGRADE = "degrade"
    BLOCK = "block"
    KILL = "kill"
    UNKNOWN = "unknown"


class UnknownSchemaError(ValueError):
    """A decision written by a newer engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What holds for a scope, and why. Absent numbers are unknown, never zero. Tokens are whole, times RFC 3339.

    `limit` and `used` count from the start of `day`; `ceiling` and `counted` are the same two in a counter that never
    resets at midnight. In the scope `global` these and `counted_gate` are money, in nano-units (10⁻⁹ of the currency).
    """

    scope: str
    action: Action
    rule: str
    reason: str
    day: str
    decided_at: str
    version: tuple[int, int]  # (epoch, n): greater is newer
    formula: str = ""
    policy: str = ""  # hash of the policy that decided
    wall: str = ""  # what bounds `limit`: pool, cap, quota, …
    limit: int | None = None
    used: int | None = None
    counted: int | None = None
    ceiling: int | None = None
    counter: str = ""  # changes when `counted` starts anew
    counted_gate: dict[str, int] = field(default_factory=dict)  # day -> the part of `counted` told by guarding gateways
    pool_low: int | None = None
    pool_high: int | None = None
    lag_tokens_low: int | None = None
    lag_tokens_high: int | None = None
    lag_seconds: float | None = None
    lag_bound_seconds: float | None = None
    charged_low: int | None = None
    charged_high: int | None = None
    complete: bool = False
    readings: tuple[str, ...] = ()  # ids of the readings behind the bounds
    orders: tuple[str, ...] = ()  # ids of the newest orders of an operator that were taken
    until: str | None = None  # when the decision ends by itself
    mode: str = "enforce"  # observe: the numbers are for looking at, gates do not hold calls against them
    prices: dict[str, int] = field(default_factory=dict)  # input, cached_input, output: nano-units per million tokens
    basis: str = ""  # what costs money. charged: tokens beyond `pool_low`; list: every token
    windows: dict[str, int] = field(default_factory=dict)  # of a tenant: day_used, day_limit, month_used, month_limit
    money: dict[str, int] = field(default_factory=dict)  # of the day: charged_low, charged_high, list (of a model), …
    # What follows is for people, with every entry of the history; on the topics only.
    ledger: dict[str, Any] = field(default_factory=dict)  # of the day: amounts are [at least, at most]
    expected_return: int | None = None  # of yesterday's usage; enters no limit
    returned: int | None = None  # of the day so far, at most
    return_overdue: bool | None = None
    runs_out_at: str | None = None  # by the rhythm of the last day; absent: not within a week, or not known
    needed_per_day: int | None = None  # daily usage with which no package ends with tokens left
    because: dict[str, Any] = field(default_factory=dict)  # what it stands on, for `blastdoor explain`
    would: dict[str, Any] = field(default_factory=dict)  # rule under trial -> {"action", "reason"} it would have had
    will_expire: dict[str, Any] = field(default_factory=dict)  # package -> {"expires", "tokens"}, if usage goes on so

    def to_hash(self) -> dict[str, str]:
        """The fields of the Redis hash; unknown numbers are left out, and so is what no gateway needs."""
        told = {name: _to_text(value) for name in _FOR_GATES if _known(value := getattr(self, name))}
        return {"schema": str(SCHEMA)} | told

    def to_json(self) -> bytes:
        """The same as one JSON object, for the decision topics."""
        return _json({"schema": SCHEMA} | self.to_dict()).encode()

    def to_dict(self) -> dict[str, Any]:
        """The known fields as JSON values. A number that is not finite is an unknown one."""
        return {name: value for name in _FIELDS if _known(value := getattr(self, name))}

    @classmethod
    def from_hash(cls, stored: Mapping[str, str]) -> Decision:
        """The inverse of `to_hash`, without what stands on the topics only; fields it does not know are ignored.

        Raises UnknownSchemaError for a newer schema, ValueError for a damaged hash.
        """
        _check_schema(stored.get("schema"))
        told = [name for name in _FOR_GATES if name in stored]
        return _build({name: _from_text(name, stored[name]) for name in told})

    @classmethod
    def from_json(cls, raw: bytes | str) -> Decision:
        """The inverse of `to_json`, with the same errors."""
        found = json.loads(raw)
        if not isinstance(found, dict):
            msg = "a decision is a JSON object"
            raise ValueError(msg)
        _check_schema(found.get("schema"))
        return _build({name: found[name] for name in _FIELDS if name in found})


def version_score(version: tuple[int, int]) -> str:
    """A version as fixed-width text, so that Redis scripts compare versions as strings."""
    return f"{version[0]:016d}-{version[1]:016d}"


def score_version(score: str) -> tuple[int, int]:
    """The inverse of `version_score`; raises ValueError for other text."""
    epoch, n = score.split("-")
    return int(epoch), int(n)


@dataclass(frozen=True, slots=True)
class Keys:
    """Redis key names under one prefix.

    `legacy_prefix` is empty in production; event mode sets it so that recordings never touch live keys.
    """

    prefix: str = "blastdoor"
    legacy_prefix: str = ""

    def decision(self, scope: str) -> str:
        return f"{self.prefix}:decision:{scope}"

    @property
    def engine(self) -> str:
        return f"{self.prefix}:engine"

    def legacy_written(self, model: str) -> str:
        """What the engine wrote last into the two `…_at_sync` keys of a model, and with which version."""
        return f"{self.prefix}:legacy:{model}"

    def own(self, scope: str, counter: str, day: str) -> str:
        return f"{self.prefix}:own:{scope}:{counter}:{day}"

    @property
    def nobody(self) -> str:
        """A key that nobody ever writes: it stands where a script has a place for one and there is none."""
        return f"{self.prefix}:gate:nobody"

    @property
    def engine_seen(self) -> str:
        """The last instant at which a gate saw the engine's heartbeat fresh."""
        return f"{self.prefix}:gate:engine-seen"

    def held(self, scope: str) -> str:
        """The reservations of a scope, each with its lease, and what they add up to."""
        return f"{self.prefix}:held:{scope}"

    def budget(self, scope: str, window: str) -> str:
        """What guards counted in a scope in a day (`2026-08-13`) or month (`2026-08`)."""
        return f"{self.prefix}:budget:{scope}:{window}"

    def top_ups(self, scope: str, window: str) -> str:
        return f"{self.prefix}:topups:{scope}:{window}"

    def rate(self, scope: str) -> str:
        return f"{self.prefix}:rate:{scope}"

    def settled(self, request_id: str) -> str:
        return f"{self.prefix}:settled:{request_id}"

    def answer(self, digest: str) -> str:
        return f"{self.prefix}:answer:{digest}"

    @property
    def open_gates(self) -> str:
        """A field for each gate process that lately let calls through without an answer: JSON with `at` (ms), `calls`
        and `why`. The engine tells people of those at most ten minutes old."""
        return f"{self.prefix}:gate:open"

    def daily_usage(self, day: str, model: str, key_hash: str) -> str:
        return f"{self.daily_usages(day)}{model}:{key_hash}"

    def daily_usages(self, day: str) -> str:
        """What all `daily_usage` keys of a day begin with."""
        return f"{self.legacy_prefix}daily_usage:{day}:"

    def balance_at_sync(self, model: str) -> str:
        return f"{self.legacy_prefix}limit:dynamic:volcengine:balance_at_sync:{model}"

    def usage_at_sync(self, model: str) -> str:
        return f"{self.legacy_prefix}limit:dynamic:volcengine:usage_at_sync:{model}"

    def last_run(self, day: str) -> str:
        return f"{self.legacy_prefix}consume:last_run:{day}"

    def tenant_quota(self, tenant: str, day: str) -> str:
        return f"{self.legacy_prefix}quota:tenant:{tenant}:{day.replace('-', '')}"


def _known(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def _to_text(value: object) -> str:
    """JSON, where it is no text; most of what a decision holds is written without the encoder."""
    if isinstance(value, str):
        return value
    if type(value) is int or type(value) is float:
        return repr(value)
    return _EMPTY.get(type(value), "") if not value else _json(value)


def _from_text(name: str, text: str) -> Any:
    if _KINDS[name] in {"str", "action"}:
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise _damaged(name) from error


def _damaged(name: str) -> ValueError:
    return ValueError(f"damaged field {name} of a decision")


def _build(values: dict[str, Any]) -> Decision:
    """Checks every value against its field, so that a damaged decision is refused and never half believed."""
    if missing := _REQUIRED - values.keys():
        msg = f"a decision without {', '.join(sorted(missing))}"
        raise ValueError(msg)
    return Decision(**{name: _check(name, value) for name, value in values.items()})


def _check(name: str, value: Any) -> Any:
    if value is None and name in _OPTIONAL:
        return None
    try:
        return _CHECKS[_KINDS[name]](value)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _damaged(name) from error


def _string(value: Any) -> str:
    return _instance(value, str)


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return _instance(value, int)


def _real(value: Any) -> float:
    number = float(value if isinstance(value, float) else _whole(value))
    if not math.isfinite(number):
        raise ValueError
    return number


def _instance(value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise TypeError
    return value


def _version(value: Any) -> tuple[int, int]:
    epoch, n = _instance(value, list)
    return _whole(epoch), _whole(n)


_CHECKS: dict[str, Callable[[Any], Any]] = {
    "str": _string,
    "action": Action,
    "int": _whole,
    "float": _real,
    "bool": lambda value: _instance(value, bool),
    "version": _version,
    "strings": lambda value: tuple(_string(each) for each in _instance(value, list)),
    "object": lambda value: _instance(value, dict),
    "counts": lambda value: {_string(day): _whole(count) for day, count in _instance(value, dict).items()},
}
_NAMED = {
    "Action": "action",
    "tuple[int, int]": "version",
    "tuple[str, ...]": "strings",
    "dict[str, int]": "counts",
    "dict[str, Any]": "object",
}
_KINDS = {f.name: _NAMED.get(str(f.type), str(f.type).split(" ")[0]) for f in fields(Decision)}
_OPTIONAL = {f.name for f in fields(Decision) if "None" in str(f.type)}
_REQUIRED = {f.name for f in fields(Decision) if f.default is MISSING and f.default_factory is MISSING}
_FIELDS = tuple(_KINDS)
_TOPICS_ONLY = frozenset(
    {
        "because",
        "would",
        "ledger",
        "expected_return",
        "returned",
        "return_overdue",
        "runs_out_at",
        "needed_per_day",
        "will_expire",
    }
)
_FOR_GATES = tuple(name for name in _FIELDS if name not in _TOPICS_ONLY)
_EMPTY = {bool: "false", dict: "{}", tuple: "[]"}


def _check_schema(found: object) -> None:
    """A schema is a whole number from 1; anything else is no decision at all."""
    if found is None or not re.fullmatch(r"[1-9][0-9]{0,8}", str(found)):
        msg = f"not a decision: schema {found}"
        raise ValueError(msg)
    if int(str(found)) > SCHEMA:
        msg = f"decision of schema {found}, this reader knows up to {SCHEMA}"
        raise UnknownSchemaError(msg)
