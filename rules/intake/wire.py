"""Our own JSON, one object a message or a line: the shapes as they are written, and `encode`, the way out.

Optional fields may be missing or null. Unknown fields are ignored. Of a field that stands twice the last one counts.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from rules.intake.fields import MOST_PACKAGES, Name, Prose, Text, Tokens, When
from rules.moment import to_datetime
from rules.records import Calibration, Clock, Control, ControlAction, Package, Reading, Record, Refusal, Usage


class UsageWire(Struct, tag="usage", tag_field="type", kw_only=True, gc=False, omit_defaults=True):
    """One finished call. Tokens: `total_tokens`, or both parts.

    A department's, user's or knowledge base's name is of any length: tokens must count whatever it is. It is cut where
    it is kept.
    """

    id: Name
    ts: When
    model: Name
    total_tokens: Tokens | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    cached_tokens: Tokens | None = None
    tenant: Text | None = None
    department: str | None = None
    user: str | None = None
    knowledge_base: str | None = None
    key_hash: Text | None = None
    status: Text | None = None
    cache_hit: bool | None = None
    estimated: bool | None = None
    source: Text | None = None
    today: Tokens | None = None


class PackageWire(Struct, kw_only=True, omit_defaults=True):
    """One package of a balance reading."""

    id: Name
    total: Tokens
    available: Tokens
    effective: When
    expires: When


Packages = Annotated[list[PackageWire], Meta(max_length=MOST_PACKAGES)]


class ReadingWire(Struct, tag="balance", tag_field="type", kw_only=True, omit_defaults=True):
    """One balance reading. A missing unit means tokens."""

    id: Name
    ts: When
    model: Name
    available: Tokens
    unit: Text | None = None
    asked_at: When | None = None
    source: Text | None = None
    settled_until: When | None = None
    packages: Packages | None = None


class CalibrationWire(Struct, tag="calibration", tag_field="type", kw_only=True, omit_defaults=True):
    """The pool at the start of a day, as the provider's console shows it."""

    id: Name
    ts: When
    model: Name
    day: Text
    pool: Tokens
    force: bool | None = None
    by: Text | None = None
    why: Prose | None = None


class ControlWire(Struct, tag="control", tag_field="type", kw_only=True, omit_defaults=True):
    """An operator's order. `tokens` belongs to topup and set_quota, `until` to kill and ban."""

    id: Name
    ts: When
    by: Name
    why: Prose
    action: ControlAction
    scope: Name
    tokens: Tokens | None = None
    until: When | None = None


class ClockWire(Struct, tag="clock", tag_field="type", kw_only=True):
    """In recordings: everything before `ts` has been sent."""

    ts: When


class RefusalWire(Struct, tag="refusal", tag_field="type", kw_only=True):
    """A call that a gateway refused by itself."""

    id: Name
    ts: When
    model: Name
    usage: Tokens
    reserve: Tokens
    limit: Tokens


Wire = UsageWire | ReadingWire | CalibrationWire | ControlWire | ClockWire | RefusalWire

TYPES = frozenset({"usage", "balance", "calibration", "control", "clock", "refusal"})
"""Every `type` of our own."""


def encode(record: Record) -> bytes:
    """One line of our own JSON, without a line break; the reader makes the same record of it."""
    return msgspec.json.encode(_written(record))


@singledispatch
def _written(record: Record) -> Wire:
    raise TypeError(type(record))


@_written.register
def _(record: Usage) -> Wire:
    return UsageWire(
        id=record.id,
        ts=to_datetime(record.at),
        model=record.model,
        total_tokens=record.total_tokens,
        prompt_tokens=record.prompt_tokens or None,
        completion_tokens=record.completion_tokens or None,
        cached_tokens=record.cached_tokens or None,
        tenant=record.tenant or None,
        department=record.department or None,
        user=record.user or None,
        knowledge_base=record.knowledge_base or None,
        key_hash=record.key_hash or None,
        status=record.status,
        cache_hit=record.cache_hit or None,
        estimated=record.estimated or None,
        source=record.source or None,
        today=record.today,
    )


@_written.register
def _(record: Reading) -> Wire:
    return ReadingWire(
        id=record.id,
        ts=to_datetime(record.at),
        model=record.model,
        available=record.available,
        unit="token",
        asked_at=None if record.asked_at is None else to_datetime(record.asked_at),
        source=record.source or None,
        settled_until=None if record.settled_until is None else to_datetime(record.settled_until),
        packages=None if record.packages is None else [_package(package) for package in record.packages],
    )


def _package(package: Package) -> PackageWire:
    return PackageWire(
        id=package.id,
        total=package.total,
        available=package.available,
        effective=to_datetime(package.effective),
        expires=to_datetime(package.expires),
    )


@_written.register
def _(record: Calibration) -> Wire:
    return CalibrationWire(
        id=record.id,
        ts=to_datetime(record.at),
        model=record.model,
        day=record.day,
        pool=record.pool,
        force=record.force or None,
        by=record.by or None,
        why=record.why or None,
    )


@_written.register
def _(record: Control) -> Wire:
    return ControlWire(
        id=record.id,
        ts=to_datetime(record.at),
        by=record.by,
        why=record.why,
        action=record.action,
        scope=record.scope,
        tokens=record.tokens,
        until=None if record.until is None else to_datetime(record.until),
    )


@_written.register
def _(record: Clock) -> Wire:
    return ClockWire(ts=to_datetime(record.at))


@_written.register
def _(record: Refusal) -> Wire:
    return RefusalWire(
        id=record.id,
        ts=to_datetime(record.at),
        model=record.model,
        usage=record.usage,
        reserve=record.reserve,
        limit=record.limit,
    )
