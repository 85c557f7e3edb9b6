"""What the writer of the legacy keys needs of a ruling."""

from __future__ import annotations

from rules.legacy import LegacyInput
from rules.policy import Policy
from rules.ruling import Ruling


def legacy_input(ruling: Ruling, policy: Policy) -> LegacyInput | None:
    """The input for a model's keys; None for scopes that have none."""
    kind, _, model = ruling.scope.partition(":")
    if kind != "model":
        return None
    return LegacyInput(
        models=(model, *(alias for alias, name in policy.aliases.items() if name == model)),
        action=ruling.action,
        limit=ruling.limit,
        pool_low=ruling.pool_low,
        used=ruling.used,
        balance=ruling.bounds.balance,
        day=ruling.day,
        at=ruling.at,
        gate_buffer=policy.gate_buffer,
        lease=min(ruling.bounds.lag_bound, policy.terms(model).max_lag),
        mode=policy.mode,
    )
