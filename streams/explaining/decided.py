"""A decision as gateways and topics have it becomes one that can be explained."""

from __future__ import annotations

from datetime import datetime

import msgspec
from blastdoor_gateway.contract import Decision

from rules.explain import Decided
from rules.grounds import Grounds
from rules.model_facts import model_facts
from rules.moment import Millis, from_datetime
from rules.records import Refusal
from rules.scope_facts import FactValue
from streams.explaining.books import read_account


def to_decided(decision: Decision, origin: str, refusal: Refusal | None = None) -> Decided:
    """The decision with its facts and grounds. Raises ValueError where its times are damaged."""
    grounds = _grounds(decision)
    at = _instant(decision.decided_at)
    return Decided(
        scope=decision.scope,
        at=at,
        until=None if decision.until is None else _instant(decision.until),
        action=decision.action.value,
        rule=decision.rule,
        reason=decision.reason,
        formula=decision.formula,
        policy=decision.policy,
        version=decision.version,
        origin=origin,
        facts=_facts(decision, grounds, at),
        lag_tokens_low=decision.lag_tokens_low,
        lag_tokens_high=decision.lag_tokens_high,
        grounds=grounds,
        account=read_account(decision),
        refusal=refusal,
    )


def _grounds(decision: Decision) -> Grounds | None:
    """None where there are none, and where another version wrote what is not understood here."""
    if not decision.because:
        return None
    try:
        return msgspec.convert(decision.because, Grounds)
    except msgspec.ValidationError:
        return None


def _facts(decision: Decision, grounds: Grounds | None, at: Millis) -> dict[str, FactValue]:
    """The facts that the rules looked at; without grounds only those that stand in the decision itself."""
    reading_at = None if grounds is None else grounds.reading_at
    facts = model_facts(
        model=decision.scope.removeprefix("model:"),
        day=decision.day,
        used=decision.used or 0,
        limit=decision.limit,
        wall=decision.wall,
        pool_low=decision.pool_low,
        pool_high=decision.pool_high,
        charged_low=decision.charged_low,
        charged_high=decision.charged_high,
        complete=decision.complete,
        lag_seconds=decision.lag_seconds,
        lag_bound_seconds=decision.lag_bound_seconds or 0.0,
        stale=grounds is not None and grounds.stale,
        reading_age_seconds=None if reading_at is None else max(0, at - reading_at) / 1000,
        unknown_mode="" if grounds is None else grounds.terms.unknown,
    )
    unsaid = () if grounds else ("stale", "reading_age_seconds", "unknown_mode")
    return {name: value for name, value in facts.items() if name not in unsaid}


def _instant(text: str) -> Millis:
    return from_datetime(datetime.fromisoformat(text))
