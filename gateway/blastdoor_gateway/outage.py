"""What a gate does on its own while Redis cannot be asked: every layer falls the way the operator chose.

Rule 1: a layer that does not concern a call (no tenant, no limit) does not refuse it.
Rule 2: a closed layer lets a call through only within the grace: shortly after Redis was heard, out of a share of the
room known then. Each process has its own share; it is used up by what is admitted and comes back only from Redis.
"""

from __future__ import annotations

from collections.abc import Iterator

from blastdoor_gateway.admission import Admission, Do, Layer, Outage, Request, Terms
from blastdoor_gateway.calendar import Millis
from blastdoor_gateway.config import Falls, Gate
from blastdoor_gateway.memory import Recent
from blastdoor_gateway.words import sentence


class Alone:
    """Admits without Redis. `now` is in seconds of a steady clock."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._room: Recent[tuple[str, str], float] = Recent(20_000)
        self._heard = float("-inf")

    def learn(self, admission: Admission, now: float) -> None:
        """Redis answered: what it let through, and what room it left."""
        self._heard = now
        request = admission.request
        if admission.terms.held:
            room = admission.remaining if admission.remaining is not None else self._gate.most_estimate * 10
            self._room.put((request.tenant, request.model), room * self._gate.failure.grace_share)
        elif not admission.allowed:
            self._room.put((request.tenant, request.model), 0)

    def admit(self, request: Request, cause: Outage, wait: float, now: float, terms: Terms, at: Millis) -> Admission:
        """The answer without Redis; `wait`: seconds until it is asked again.

        `terms`: Redis may have taken the reservation although its answer was lost; to settle gives it back.
        """
        closed = next(self._closed(request), None)
        allowed = closed is None or self._has_grace(request, now)
        rule = "redis-unreachable"
        return Admission(
            request=request,
            allowed=allowed,
            action=Do.PROCEED if allowed else Do.REJECT,
            layer=None if allowed else closed,
            rule=rule,
            reason=sentence(rule, "", {}, {"cause": cause.value}),
            retry_after=None if allowed else max(1.0, wait),
            warnings=(rule,) if allowed else (),
            local=True,
            at=at,
            terms=terms,
        )

    def matters(self, request: Request) -> bool:
        """Whether a layer that keeps tokens or money concerns a call: people should hear if it passes unasked."""
        return any(layer is not Layer.RATE for layer, _ in self._concerned(request))

    def _closed(self, request: Request) -> Iterator[Layer]:
        """Layers that concern a call and fall closed, in their order."""
        return (layer for layer, way in self._concerned(request) if way is Falls.CLOSED)

    def _concerned(self, request: Request) -> Iterator[tuple[Layer, Falls]]:
        """Layers that concern a call with the way they fall, in their order."""
        gate, falls, budget = self._gate, self._gate.failure, self._gate.budget(request.tenant)
        limited = budget.daily_tokens is not None or budget.monthly_tokens is not None
        concerned = (
            (Layer.KILL, falls.kill, gate.engine is not None),
            (Layer.RATE, falls.rate, gate.per_ip is not None or gate.per_user is not None),
            (Layer.BUDGET, falls.budget, bool(request.tenant) and (limited or gate.engine is not None)),
            (Layer.MODEL, falls.model, gate.engine is not None),
            (Layer.SPEND, falls.spend, gate.spend is not None and (gate.engine or gate.spend.daily) is not None),
        )
        return ((layer, way) for layer, way, concerns in concerned if concerns)

    def _has_grace(self, request: Request, now: float) -> bool:
        room = self._room.get((request.tenant, request.model))
        if room is None or now - self._heard > self._gate.failure.grace_seconds or room < request.tokens:
            return False
        self._room.put((request.tenant, request.model), room - request.tokens)
        return True
