"""An explanation for scripts: one JSON object with every number of the text, times as RFC 3339, unknown ones null."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any

import msgspec

from rules.explain import EndSum, Explanation, Step
from rules.grounds import LagBound, Moved, Remembered, Said
from rules.moment import Millis, to_rfc3339
from rules.pool_state import Expired
from streams.explaining.books import to_object

Object = dict[str, Any]


def document(explanation: Explanation, zone: tzinfo) -> Object:
    """The object. Fields may be added, none changes its meaning."""
    decided, grounds = explanation.decided, explanation.decided.grounds
    time = _Times(zone)
    return {
        "scope": decided.scope,
        "at": time(decided.at),
        "until": time(decided.until),
        "action": decided.action,
        "reason": decided.reason,
        "version": list(decided.version),
        "policy": decided.policy,
        "same_policy": explanation.same_policy,
        "origin": decided.origin,
        "rule": {"name": decided.rule, "when": explanation.when},
        "rules": msgspec.to_builtins(explanation.asked),
        "facts": decided.facts,
        "limit": {"tokens": decided.facts.get("limit"), "walls": msgspec.to_builtins(explanation.walls)},
        "pool": {"low": _end(explanation.low), "high": _end(explanation.high)},
        "lag_tokens": {"low": decided.lag_tokens_low, "high": decided.lag_tokens_high},
        "formulas": msgspec.to_builtins(explanation.others),
        "steps": [_step(step, time) for step in explanation.steps],
        "why_unknown": (grounds.why or None) if grounds else None,
        "unmetered_share": grounds.share if grounds else None,
        "metered_since": time(grounds.since) if grounds else None,
        "complete_until": time(grounds.complete_until) if grounds else None,
        "believed_from": time(grounds.believed_from) if grounds else None,
        "positions": grounds.positions if grounds else {},
    } | to_object(decided.account, time)


class _Times:
    """Writes instants in a zone."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone

    def __call__(self, at: Millis | None) -> str | None:
        return None if at is None else to_rfc3339(at, self._zone)


def _end(end: EndSum | None) -> Object | None:
    if end is None:
        return None
    given = {"value": end.value, "reading": end.giver.id, "origin": end.giver.origin, "says": end.raw}
    return given | {"allowance": end.allowance, "crossed": end.crossed}


def _step(step: Step, time: _Times) -> Object:
    what = step.what
    fields = {"at": time(step.at), "kind": type(what).__name__.lower()}
    if isinstance(what, Said):
        return fields | {"kind": "reading" if what.entered is None else "calibration"} | _said(what, time)
    if isinstance(what, Remembered):
        return fields | {"id": what.id, "origin": what.origin, "high": what.high}
    if isinstance(what, Moved):
        change = {"cause": what.cause.value, "id": what.id, "low": what.low, "high": what.high}
        return fields | {"kind": "change", "seen": time(what.seen)} | change
    if isinstance(what, Expired):
        return fields | {"id": what.id, "least": what.least, "most": what.most}
    if isinstance(what, LagBound):
        return fields | {"kind": "lag_bound", "seconds": what.bound / 1000, "usual_seconds": what.usual / 1000}
    return fields | {"id": what.id, "usage": what.usage, "reserve": what.reserve, "limit": what.limit}


def _said(said: Said, time: _Times) -> Object:
    return {
        "id": said.id,
        "origin": said.origin,
        "taken_at": time(said.at),
        "balance": said.balance,
        "settled_by": time(said.by),
        "settled": said.settled,
        "used": said.used,
        "low": said.low,
        "high": said.high,
        "parts": [part.value for part in said.parts],
        "ending": said.ending,
        "lost": said.lost,
        "unmetered": said.unmetered,
        "came_low": said.came_low,
        "came_high": said.came_high,
        "exact": said.exact,
    }
