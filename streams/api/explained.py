"""Why a decision is as it is, for whoever asks over HTTP: of a model what `blastdoor explain --json` tells.

Read from the newest decisions on Kafka, so any worker can tell it of any scope. One question at a time: each reads a
part of a topic. Where Kafka does not answer nothing is told, as half of a reason would look like the whole of it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from blastdoor_gateway.contract import Decision, UnknownSchemaError

from rules.explain import explain
from rules.facts import kind_of
from rules.policy import Policy
from rules.rulebook import Rulebook
from streams.delivery.errors import DeliveryError
from streams.explaining.decided import to_decided
from streams.explaining.document import document
from streams.explaining.history import History, Kept
from streams.topics import BrokerUnavailable
from streams.usage.index import NotReadyError


class Reasons:
    """Looks up what decisions stand on."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._one = asyncio.Lock()

    async def latest(self, scope: str) -> Kept | None:
        """The newest entry of the history about a scope. Raises NotReadyError."""
        try:
            async with self._one:
                return await self._history.latest(scope)
        except (BrokerUnavailable, DeliveryError, UnknownSchemaError, OSError) as error:
            raise NotReadyError("Kafka does not tell the history") from error


def explained(kept: Kept, decision: Decision, rulebook: Rulebook, policy: Policy) -> dict[str, Any]:
    """The explanation, and beside it the decision as gateways read it now."""
    reasons = _of_model if kind_of(kept.decision.scope) == "model" else _of_other
    return reasons(kept, rulebook, policy) | {"decision": decision.to_dict()}


def _of_model(kept: Kept, rulebook: Rulebook, policy: Policy) -> dict[str, Any]:
    found = explain(to_decided(kept.decision, kept.origin), rulebook, policy.hash)
    return document(found, policy.calendar().zone)


def _of_other(kept: Kept, rulebook: Rulebook, policy: Policy) -> dict[str, Any]:
    """No reading bears on these: the rule, the numbers that it looked at, and the orders behind them."""
    told = kept.decision
    same = told.policy == policy.hash
    rule = rulebook.rule(kind_of(told.scope), told.rule) if same else None
    numbers = {"used": told.used, "limit": told.limit, "wall": told.wall} | told.windows | told.money
    return {
        "scope": told.scope,
        "at": told.decided_at,
        "until": told.until,
        "action": told.action.value,
        "reason": told.reason,
        "version": list(told.version),
        "policy": told.policy,
        "same_policy": same,
        "origin": kept.origin,
        "rule": {"name": told.rule, "when": rule.when if rule else None},
        "facts": numbers,
        "because": told.because,
    }
