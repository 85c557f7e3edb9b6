"""A script's answer as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blastdoor_gateway.admission import Admission, Do, Layer, Request, Standing, Terms, Window
from blastdoor_gateway.calendar import Millis, Windows
from blastdoor_gateway.money import price_from
from blastdoor_gateway.words import sentence

Fields = Mapping[str, Any]
"""By name. Values are text, but for those of ADMITTED, which are whole numbers where they are numbers."""

ADMITTED = (
    "status", "warnings", "remaining", "silence", "used_day", "used_month", "used_spend", "money", "free", "priced",
    "input", "output", "cached_input", "limit",
)  # fmt: skip
"""What admit.lua tells of a call that it lets in, by place."""


def fields_of(flat: Sequence[Any]) -> Fields:
    """A flat list of names and texts, or what was said by place."""
    if flat[0] == "admitted":
        return dict(zip(ADMITTED, flat, strict=True))
    pairs = iter(flat)
    return dict(zip(pairs, pairs, strict=True))


def admission_of(found: Fields, request: Request, counters: dict[str, str], when: Windows, now: Millis) -> Admission:
    """What admit.lua said about a request."""
    if found["status"] == "refused":
        return _refused(found, request, counters, when, now)
    return Admission(
        request=request,
        allowed=True,
        action=Do.PROCEED,
        layer=Layer(found["layer"]) if "layer" in found else None,
        rule=found.get("rule", ""),
        remaining=number(found.get("remaining")),
        warnings=_warnings(found),
        answer=found.get("answer"),
        at=now,
        terms=_terms(found, counters, when, held=found["status"] == "admitted"),
    )


def standing_of(found: Fields) -> Standing:
    """What standing.lua found."""
    day, month = (
        Window(
            used=int(found[f"used_{window}"]),
            held=int(found[f"held_{window}"]),
            granted=number(found.get(f"granted_{window}")),
        )
        for window in ("day", "month")
    )
    return Standing(day=day, month=month)


def number(found: str | int | None) -> int | None:
    """A whole number; None where there is none."""
    return None if found is None or found == "" else int(found)


def _refused(found: Fields, request: Request, counters: dict[str, str], when: Windows, now: Millis) -> Admission:
    rule, wait = found["rule"], number(found.get("wait"))
    names = {"tenant": request.tenant, "model": request.model, "reserve": f"{request.tokens:,}"}
    return Admission(
        request=request,
        allowed=False,
        action=Do(found["action"]),
        layer=Layer(found["layer"]),
        rule=rule,
        reason=sentence(rule, found.get("reason", ""), found, names),
        retry_after=None if wait is None else wait / 1000,
        at=now,
        terms=_terms(found, counters, when, held=False),
    )


def _terms(found: Fields, counters: dict[str, str], when: Windows, *, held: bool) -> Terms:
    return Terms(
        day=when.day,
        month=when.month,
        held=held,
        money=number(found.get("money")),
        free=int(found.get("free") or 0),
        price=price_from(found),
        counters=counters,
        limit=number(found.get("limit")),
    )


def _warnings(found: Fields) -> tuple[str, ...]:
    told = tuple(rule for rule in found.get("warnings", "").split(",") if rule)
    return (*told, "engine-silent") if int(found.get("silence") or 0) > 0 else told
