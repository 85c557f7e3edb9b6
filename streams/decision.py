"""A ruling as the decision that gateways read."""

from __future__ import annotations

from datetime import tzinfo
from functools import lru_cache
from typing import Any

import msgspec
from blastdoor_gateway.contract import Action, Decision
from msgspec import Struct

from rules.account import Account
from rules.ledger import Ledger
from rules.moment import to_rfc3339
from rules.ruling import Ruling

_written = lru_cache(maxsize=256)(to_rfc3339)  # many are decided at one instant, and most end with the day


def to_decision(
    ruling: Ruling,
    version: tuple[int, int],
    zone: tzinfo,
    account: Account | None = None,
    grounds: Struct | None = None,
) -> Decision:
    """The ruling under a version, with times in the policy's zone; `account` and `grounds` are of an entry of the
    history: with the day's books, and so that it can be explained later."""
    return Decision(
        scope=ruling.scope,
        action=Action(ruling.action),
        rule=ruling.rule,
        reason=ruling.reason,
        day=ruling.day,
        decided_at=_written(ruling.at, zone),
        until=None if ruling.until is None else _written(ruling.until, zone),
        version=version,
        formula=ruling.formula,
        policy=ruling.policy,
        wall=ruling.wall,
        mode="observe" if ruling.observed else "enforce",
        limit=ruling.limit,
        used=ruling.used,
        counted=ruling.used + ruling.base,
        ceiling=None if ruling.limit is None or ruling.soft else ruling.limit + ruling.base,
        counter=ruling.counter,
        counted_gate=ruling.guarded,
        prices=ruling.prices,
        basis=ruling.basis,
        windows=ruling.windows,
        would={each.rule: {"action": each.action, "reason": each.reason} for each in ruling.would},
        money=ruling.money,
        orders=ruling.orders,
        because={} if grounds is None else msgspec.to_builtins(grounds),
        **(_pool(ruling) if ruling.bounds.lag_bound else {}),
        **({} if account is None else _told(account, zone)),
    )


def _pool(ruling: Ruling) -> dict[str, Any]:
    """What is known of a model's pool."""
    bounds = ruling.bounds
    return {
        "pool_low": ruling.pool_low,
        "pool_high": ruling.pool_high,
        "lag_tokens_low": bounds.lag_tokens_low,
        "lag_tokens_high": bounds.lag_tokens_high,
        "lag_seconds": bounds.lag_seconds,
        "lag_bound_seconds": bounds.lag_bound / 1000,
        "charged_low": bounds.charged_low,
        "charged_high": bounds.charged_high,
        "complete": bounds.complete,
        "readings": bounds.readings,
    }


def _told(account: Account, zone: tzinfo) -> dict[str, Any]:
    """The day's account as fields of a decision."""
    ledger, ahead = account.ledger, account.outlook
    return {
        "ledger": {} if ledger is None else _ledger(ledger),
        "expected_return": ahead.expected_return,
        "returned": ahead.returned,
        "return_overdue": ahead.overdue,
        "runs_out_at": None if ahead.runs_out_at is None else to_rfc3339(ahead.runs_out_at, zone),
        "needed_per_day": ahead.needed_per_day,
        "will_expire": {
            known.id: {"expires": to_rfc3339(known.expires, zone), "tokens": known.tokens}
            for known in ahead.will_expire
        },
    }


def _ledger(ledger: Ledger) -> dict[str, Any]:
    """As JSON has it, amounts as lists."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(ledger))
    return fields | {"meets": ledger.meets}
