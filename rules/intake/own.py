"""Our own shapes become records: what no single field can tell is checked here."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from datetime import date, tzinfo
from typing import Any

from rules.calls import Calls
from rules.intake.fields import (
    MOST_TOKENS,
    Unfit,
    When,
    check_name,
    excerpt,
    has_control,
    instant,
    instants,
    optional_instant,
)
from rules.intake.wire import (
    CalibrationWire,
    ClockWire,
    ControlWire,
    PackageWire,
    ReadingWire,
    RefusalWire,
    UsageWire,
    Wire,
)
from rules.moment import LATEST, Millis
from rules.records import (
    Calibration,
    Clock,
    Control,
    ControlAction,
    Package,
    Reading,
    Reason,
    Record,
    Refusal,
    Usage,
)

# Where a line break may stand: free text for people, and labels, whose tokens must count whatever they hold.
_PROSE = frozenset({"why", "department", "user", "knowledge_base"})
_NEEDS_TOKENS = frozenset({ControlAction.TOPUP, ControlAction.SET_QUOTA})


def usage(wire: UsageWire, zone: tzinfo) -> Usage:
    """The hot path: everything that costs is left to the decoder."""
    prompt, completion, cached = wire.prompt_tokens, wire.completion_tokens, wire.cached_tokens or 0
    total = wire.total_tokens
    if total is None:
        total = _sum_of_parts(prompt, completion)
    prompt, completion = prompt or 0, completion or 0
    if total < prompt + completion:
        raise Unfit(Reason.BAD_VALUE, f"total_tokens: {total} is less than its parts, {prompt} + {completion}")
    if cached > prompt:
        raise Unfit(
            Reason.BAD_VALUE, f"cached_tokens: {cached} is more than prompt_tokens, {prompt}, which contains it"
        )
    if wire.id.isspace() or wire.model.isspace():
        raise Unfit(Reason.BAD_VALUE, f"{'id' if wire.id.isspace() else 'model'}: consists of white space")
    return Usage(
        wire.id,
        instant("ts", wire.ts, zone),
        wire.model,
        total,
        prompt,
        completion,
        cached,
        wire.tenant or "",
        wire.department or "",
        wire.user or "",
        wire.knowledge_base or "",
        wire.key_hash or "",
        "success" if wire.status is None else wire.status,
        wire.cache_hit or False,
        wire.estimated or False,
        wire.source or "",
        wire.today,
    )


def calls(wires: Sequence[UsageWire], zone: tzinfo) -> Calls:
    """Many events of usage, checked and left as they were decoded. Raises Unfit, and where a total is left out."""
    for wire in wires:
        total, prompt = wire.total_tokens, wire.prompt_tokens or 0
        if total is None or total < prompt + (wire.completion_tokens or 0) or prompt < (wire.cached_tokens or 0):
            raise Unfit(Reason.BAD_VALUE, "to be read by itself")
    if any(map(str.isspace, [wire.id for wire in wires])) or any(map(str.isspace, {wire.model for wire in wires})):
        raise Unfit(Reason.BAD_VALUE, "to be read by itself")
    return Calls(wires, instants("ts", [wire.ts for wire in wires], zone))


def reading(wire: ReadingWire, zone: tzinfo) -> Reading:
    """A balance in any other unit than tokens is no reading."""
    if wire.unit is not None and wire.unit.casefold() not in {"token", "tokens"}:
        raise Unfit(Reason.WRONG_UNIT, f"unit: {excerpt(wire.unit)} cannot be compared with tokens")
    at = instant("ts", wire.ts, zone)
    return Reading(
        id=_name("id", wire.id),
        at=at,
        model=_name("model", wire.model),
        available=wire.available,
        asked_at=_not_after("asked_at", wire.asked_at, at, zone),
        source=wire.source or "",
        settled_until=_not_after("settled_until", wire.settled_until, at, zone),
        packages=None
        if wire.packages is None
        else tuple(_package(n, package, zone) for n, package in enumerate(wire.packages)),
    )


def calibration(wire: CalibrationWire, zone: tzinfo) -> Calibration:
    """The pool is the operator's word: it needs a real day."""
    return Calibration(
        id=_name("id", wire.id),
        at=instant("ts", wire.ts, zone),
        model=_name("model", wire.model),
        day=_day(wire.day),
        pool=wire.pool,
        force=bool(wire.force),
        by=wire.by or "",
        why=wire.why or "",
    )


def control(wire: ControlWire, zone: tzinfo) -> Control:
    """An order without an author, a reason or a scope that exists is refused."""
    if wire.tokens is None and wire.action in _NEEDS_TOKENS:
        raise Unfit(Reason.MISSING_FIELD, f"the required field `tokens` is missing: {wire.action} needs it")
    if not wire.why.strip():
        raise Unfit(Reason.BAD_VALUE, "why: consists of white space")
    return Control(
        id=_name("id", wire.id),
        at=instant("ts", wire.ts, zone),
        by=_name("by", wire.by),
        why=wire.why,
        action=wire.action,
        scope=_scope(wire.scope),
        tokens=wire.tokens,
        until=optional_instant("until", wire.until, zone),
    )


def clock(wire: ClockWire, zone: tzinfo) -> Clock:
    """The clock of a recording."""
    return Clock(at=instant("ts", wire.ts, zone))


def refusal(wire: RefusalWire, zone: tzinfo) -> Refusal:
    """What a gateway refused by itself."""
    return Refusal(
        id=_name("id", wire.id),
        at=instant("ts", wire.ts, zone),
        model=_name("model", wire.model),
        usage=wire.usage,
        reserve=wire.reserve,
        limit=wire.limit,
    )


RECORD: dict[type[Wire], Callable[[Any, tzinfo], Record]] = {
    UsageWire: usage,
    ReadingWire: reading,
    CalibrationWire: calibration,
    ControlWire: control,
    ClockWire: clock,
    RefusalWire: refusal,
}
"""Which function makes the record of a shape; all of them raise Unfit."""


def check_names(made: Any) -> Any:
    """Refuse control characters in any field that is a part of keys."""
    for field in made.__struct_fields__:
        value = getattr(made, field)
        if isinstance(value, str) and field not in _PROSE and has_control(value):
            raise Unfit(Reason.BAD_VALUE, f"{field}: holds a control character")
    return made


def _sum_of_parts(prompt: int | None, completion: int | None) -> int:
    if prompt is None or completion is None:
        raise Unfit(
            Reason.MISSING_FIELD,
            "the required field `total_tokens` is missing; both prompt_tokens and completion_tokens would do instead",
        )
    if prompt + completion > MOST_TOKENS:
        raise Unfit(Reason.BAD_VALUE, f"prompt_tokens + completion_tokens: more than {MOST_TOKENS}")
    return prompt + completion


def _name(field: str, name: str) -> str:
    check_name(field, name)
    return name


def _not_after(field: str, when: When | None, at: Millis, zone: tzinfo) -> Millis | None:
    """An instant that cannot lie after the reading that tells of it."""
    found = optional_instant(field, when, zone)
    if found is not None and found > at:
        raise Unfit(Reason.BAD_TIME, f"{field}: lies after ts")
    return found


def _package(number: int, wire: PackageWire, zone: tzinfo) -> Package:
    field = f"packages[{number}]"
    if wire.available > wire.total:
        raise Unfit(Reason.BAD_VALUE, f"{field}.available: {wire.available} is more than its total, {wire.total}")
    effective = instant(f"{field}.effective", wire.effective, zone)
    expires = _expiry(f"{field}.expires", wire.expires, zone)
    if expires < effective:
        raise Unfit(Reason.BAD_TIME, f"{field}.expires: lies before effective")
    return Package(
        id=_name(f"{field}.id", wire.id),
        total=wire.total,
        available=wire.available,
        effective=effective,
        expires=expires,
    )


def _expiry(field: str, when: When, zone: tzinfo) -> Millis:
    """Providers write "never" as a far year; that is the end of time here."""
    if not isinstance(when, float) and when.year >= 2100:
        return LATEST - 1
    return instant(field, when, zone)


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise Unfit(Reason.BAD_TIME, f"day: {excerpt(text)} is not a date like 2026-08-13") from None
    if day.isoformat() != text or not 2000 <= day.year < 2100:
        raise Unfit(Reason.BAD_TIME, f"day: {excerpt(text)} is not a date like 2026-08-13 within 2000 to 2099")
    return text


def _scope(scope: str) -> str:
    """`model:<name>`, `tenant:<name>`, `user:<tenant>/<name>`, `ip:<net>` or `global`."""
    kind, _, name = scope.partition(":")
    check_name("scope", scope)
    tenant, slash, user = name.partition("/")
    known = {
        "global": scope == "global",
        "model": bool(name.strip()),
        "tenant": bool(name.strip()),
        "user": bool(slash and tenant.strip() and user.strip()),
        "ip": _is_net(name),
    }
    if not known.get(kind, False):
        raise Unfit(
            Reason.BAD_VALUE,
            f"scope: {excerpt(scope)} is none of model:NAME, tenant:NAME, user:TENANT/NAME, ip:NET, global",
        )
    return scope


def _is_net(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True
