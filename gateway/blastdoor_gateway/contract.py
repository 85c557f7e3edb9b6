"""The contract between the engine and a gateway: Redis key names and the encoding of a decision.

The engine imports this very file, so the two sides cannot drift apart. Standard library only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

SCHEMA = 1
"""Version of the decision's fields. A reader that meets a higher one must refuse to guess."""

DECISION_TTL_SECONDS = 48 * 3600


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
    """What holds for a scope, and why. Absent numbers are unknown, never zero. Tokens are whole numbers, times RFC 3339.

    `limit` and `used` count from the start of `day`; `ceiling` and `counted` are the same two in a counter that never resets at midnight.
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
    counted_gate: dict[str, int] = field(default_factory=dict)  # day -> the part of `counted` that guarding gateways reported
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
    until: str | None = None  # when the decision ends by itself

    def to_hash(self) -> dict[str, str]:
        """The fields of the Redis hash; unknown numbers are left out."""
        return {"schema": str(SCHEMA)} | {f.name: text for f in fields(self) if (text := _text(getattr(self, f.name))) is not None}

    def to_json(self) -> bytes:
        """The same as one JSON object, for the decision topics."""
        return json.dumps({"schema": SCHEMA} | self.to_dict(), ensure_ascii=False, separators=(",", ":")).encode()

    def to_dict(self) -> dict[str, Any]:
        """The known fields as JSON values."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    @classmethod
    def from_hash(cls, stored: dict[str, str]) -> Decision:
        """The inverse of `to_hash`. Raises UnknownSchemaError for a newer schema, ValueError for a damaged hash."""
        _check_schema(stored.get("schema"))
        return cls(**{f.name: _value(f.name, str(f.type), stored[f.name]) for f in fields(cls) if f.name in stored})

    @classmethod
    def from_json(cls, raw: bytes | str) -> Decision:
        """The inverse of `to_json`, with the same errors."""
        found: dict[str, Any] = json.loads(raw)
        _check_schema(found.pop("schema", None))
        found |= {"action": Action(found["action"]), "version": tuple(found["version"]), "readings": tuple(found.get("readings", ()))}
        return cls(**{f.name: found[f.name] for f in fields(cls) if f.name in found})


def version_score(version: tuple[int, int]) -> str:
    """A version as fixed-width text, so that Redis scripts compare versions as strings."""
    return f"{version[0]:016d}-{version[1]:016d}"


@dataclass(frozen=True, slots=True)
class Keys:
    """Redis key names under one prefix. `legacy_prefix` is empty in production; event mode sets it so that recordings never touch live keys."""

    prefix: str = "blastdoor"
    legacy_prefix: str = ""

    def decision(self, scope: str) -> str:
        return f"{self.prefix}:decision:{scope}"

    @property
    def engine(self) -> str:
        return f"{self.prefix}:engine"

    def own(self, scope: str, counter: str, day: str) -> str:
        return f"{self.prefix}:own:{scope}:{counter}:{day}"

    def daily_usage(self, day: str, model: str, key_hash: str) -> str:
        return f"{self.legacy_prefix}daily_usage:{day}:{model}:{key_hash}"

    def balance_at_sync(self, model: str) -> str:
        return f"{self.legacy_prefix}limit:dynamic:volcengine:balance_at_sync:{model}"

    def usage_at_sync(self, model: str) -> str:
        return f"{self.legacy_prefix}limit:dynamic:volcengine:usage_at_sync:{model}"

    def last_run(self, day: str) -> str:
        return f"{self.legacy_prefix}consume:last_run:{day}"

    def tenant_quota(self, tenant: str, day: str) -> str:
        return f"{self.legacy_prefix}quota:tenant:{tenant}:{day.replace('-', '')}"


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def _value(name: str, kind: str, text: str) -> Any:
    if name == "action":
        return Action(text)
    if kind.startswith("tuple"):
        return tuple(json.loads(text))
    if kind.startswith("dict"):
        return json.loads(text)
    if kind == "bool":
        return text == "true"
    if kind.startswith("int"):
        return int(text)
    return float(text) if kind.startswith("float") else text


def _check_schema(found: object) -> None:
    if found is None or int(str(found)) > SCHEMA:
        msg = f"decision of schema {found}, this reader knows up to {SCHEMA}"
        raise UnknownSchemaError(msg)
