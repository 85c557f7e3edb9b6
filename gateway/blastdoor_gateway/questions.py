"""A call of a script for each thing a gate wants of Redis: which keys, which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blastdoor_gateway.address import ban_names, rate_name
from blastdoor_gateway.admission import Admission, Request
from blastdoor_gateway.calendar import BEIJING, Calendar, Millis, Windows
from blastdoor_gateway.config import Gate, Rate
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.memory import Memory
from blastdoor_gateway.money import Nano, Tokens
from blastdoor_gateway.scripts import ADMIT, REMEMBER, SETTLE, STANDING, TOP_UP, Call, call_of

COUNTED = ("model", "tenant", "global")
"""Scopes in which the engine counts what the gate admits."""

KeyMap = dict[str, str | None]


class Questions:
    """Makes calls; asks nobody. `fixed_clock`: scripts take the gate's time instead of the server's."""

    def __init__(self, gate: Gate, keys: Keys, memory: Memory, *, fixed_clock: bool) -> None:
        self._gate = gate
        self._keys = keys
        self._memory = memory
        self._calendar = Calendar(gate.timezone, gate.day_starts)
        self._fixed = fixed_clock
        self._engine = {} if gate.engine is None else {
            "unknown": gate.engine.unknown, "stale": gate.engine.silent,
            "stale_after": gate.engine.stale_after, "stale_grace": gate.engine.grace,
        }  # fmt: skip
        self._spend = {} if gate.spend is None else _given(
            spend_limit=gate.spend.daily, basis=gate.spend.basis, assumed=gate.spend.assumed.as_dict()
        )  # fmt: skip

    def windows(self, now: Millis) -> Windows:
        return self._calendar.windows(now)

    def to_text(self, at: Millis) -> str:
        return self._calendar.to_text(at)

    def admit(self, request: Request, now: Millis) -> Call:
        """May this call go on?"""
        when = self.windows(now)
        keys = self._admit_keys(request, when)
        rates = [*self._rate("ip", self._gate.per_ip, keys), *self._rate("user", self._gate.per_user, keys)]
        budget = self._gate.budget(request.tenant)
        ask = {
            "now": self._now(now), "id": request.request_id, "day": when.day, "month": when.month,
            "day_ends": when.day_ends, "month_ends": when.month_ends, "days": [when.day, when.yesterday],
            "reserve": request.tokens, "lease": self._gate.lease, "floors": self._floors(keys),
            "counters": self.counters(request), "rates": rates, "over": budget.over,
            "addresses": sum(1 for name in keys if name.startswith("decision_ip_")),
            "unknown": "open", "stale": "open", **self._engine, **self._spend,
        }  # fmt: skip
        return call_of(ADMIT, keys, ask | _given(
            day_limit=budget.daily_tokens, month_limit=budget.monthly_tokens, price=self._price(request.model),
        ))  # fmt: skip

    def settle(self, admission: Admission, tokens: Tokens, money: Nano, now: Millis) -> Call:
        """Count what a call used, and give back what it had reserved."""
        request, terms, ended = admission.request, admission.terms, self.windows(now)
        leases = {
            name: f"{money_or_tokens}|{terms.day}|{request.request_id}"
            for name, money_or_tokens in self._reserved(admission).items()
        }
        keys: KeyMap = {"settled": self._keys.settled(request.request_id)}
        keys |= {f"held_{name}": self._keys.held(self._scope(name, request)) for name in self._holding(request)}
        keys |= self._budget_keys(request, terms.day, terms.month)
        for name in self._counted(request):
            scope, counter = self._scope(name, request), terms.counters.get(name, "")
            keys[f"decision_{name}"] = self._keys.decision(scope)
            keys[f"own_{name}"] = self._keys.own(scope, counter, ended.day)
        if self._gate.legacy and request.model:
            keys |= self._daily_usage_keys(request, now)
        ask = {
            "now": self._now(now), "id": request.request_id, "tokens": tokens.total, "money": money, "day": terms.day,
            "leases": leases, "own_day": ended.day, "counters": terms.counters, "floors": self._floors(keys),
            "lives": self._gate.recognise,
        }  # fmt: skip
        return call_of(SETTLE, keys, ask)

    def standing(self, tenant: str, now: Millis) -> Call:
        """How does a tenant stand?"""
        when, budget = self.windows(now), self._gate.budget(tenant)
        request = Request(request_id="", model="", tenant=tenant)
        keys: KeyMap = {
            "held_tenant": self._keys.held(f"tenant:{tenant}"),
            **self._budget_keys(request, when.day, when.month),
            **self._top_up_keys(tenant, when),
        }
        ask = {"now": self._now(now), "day": when.day, "month": when.month, "floors": self._floors(keys)}
        return call_of(STANDING, keys, ask | _given(day_limit=budget.daily_tokens, month_limit=budget.monthly_tokens))

    def top_up(self, tenant: str, window: str, tokens: int, grant_id: str, now: Millis) -> Call:
        """Grant a tenant more in the day or month around now."""
        keys = {"topups": self._top_up_keys(tenant, self.windows(now))[f"topups_{window}"]}
        return call_of(TOP_UP, keys, {"now": self._now(now), "id": grant_id, "tokens": tokens, "window": window})

    def remember(self, digests: Sequence[str], answer: str, now: Millis) -> Call:
        """Keep an answer under its question's digests."""
        places = zip(("answer_same", "answer_near"), digests, strict=False)
        keys: KeyMap = {place: self._keys.answer(digest) for place, digest in places}
        return call_of(REMEMBER, keys, {"now": self._now(now), "answer": answer, "lives": self._gate.answers_live})

    def counters(self, request: Request) -> dict[str, str]:
        """The engine's counters for which own keys are given."""
        known = {name: self._memory.counters.get(self._scope(name, request)) for name in self._counted(request)}
        return {name: counter or "" for name, counter in known.items()}

    def learn_counters(self, request: Request, answer: Mapping[str, str]) -> None:
        """Take over which counters the engine has."""
        for name in self._counted(request):
            self._memory.counters.put(self._scope(name, request), answer[name])

    def budget_keys(self, admission: Admission) -> KeyMap:
        """Where counts of this call stand that must never shrink."""
        return self._budget_keys(admission.request, admission.terms.day, admission.terms.month)

    def _admit_keys(self, request: Request, when: Windows) -> KeyMap:
        answers = zip(("answer_same", "answer_near"), request.answers, strict=False)
        own: KeyMap = {"settled": self._keys.settled(request.request_id)}
        return (
            own
            | dict(self._common_keys(request, when))
            | {place: self._keys.answer(digest) for place, digest in answers}
        )

    def _common_keys(self, request: Request, when: Windows) -> Mapping[str, str | None]:
        """What calls of the same caller to the same model have in common; put together once a day."""
        counters = self.counters(request)
        kind = (request.model, request.tenant, request.user, request.address, when.day, *counters.values())
        found = self._memory.keys.get(kind)
        if found is None:
            found = self._caller_keys(request) | self._counted_keys(request, when, counters)
            self._memory.keys.put(kind, found)
        return found

    def _counted_keys(self, request: Request, when: Windows, counters: Mapping[str, str]) -> KeyMap:
        """Decisions about what is counted, and where it is counted."""
        keys = self._keys
        found: KeyMap = {"decision_global": keys.decision("global")}
        if self._gate.engine is not None:
            found |= {"heartbeat": keys.engine, "seen": keys.engine_seen}
            found |= {"decision_model": keys.decision(f"model:{request.model}")}
        found |= {f"held_{each}": keys.held(self._scope(each, request)) for each in self._holding(request)}
        for each in self._counted(request):
            scope = self._scope(each, request)
            found[f"own_{each}_today"] = keys.own(scope, counters[each], when.day)
            found[f"own_{each}_yesterday"] = keys.own(scope, counters[each], when.yesterday)
        if request.tenant:
            found |= {"decision_tenant": keys.decision(f"tenant:{request.tenant}")}
            found |= self._top_up_keys(request.tenant, when)
        return found | self._budget_keys(request, when.day, when.month)

    def _caller_keys(self, request: Request) -> KeyMap:
        """Rates and bans of whoever calls."""
        keys = self._keys
        found: KeyMap = {}
        if request.user:
            found["decision_user"] = keys.decision(f"user:{request.tenant}/{request.user}")
            found["rate_user"] = keys.rate(f"user:{request.tenant}/{request.user}")
        if request.address:
            found["rate_ip"] = keys.rate(f"ip:{rate_name(request.address)}")
            bans = enumerate(ban_names(request.address), 1)
            found |= {f"decision_ip_{place}": keys.decision(f"ip:{net}") for place, net in bans}
        return found

    def _budget_keys(self, request: Request, day: str, month: str) -> KeyMap:
        found: KeyMap = {}
        if request.tenant:
            scope = f"tenant:{request.tenant}"
            found |= {"budget_day": self._keys.budget(scope, day), "budget_month": self._keys.budget(scope, month)}
            if self._gate.legacy:
                found["quota"] = self._keys.tenant_quota(request.tenant, day)
        if self._gate.spend is not None:
            found["budget_global"] = self._keys.budget("global", day)
        return found

    def _top_up_keys(self, tenant: str, when: Windows) -> KeyMap:
        scope = f"tenant:{tenant}"
        day, month = self._keys.top_ups(scope, when.day), self._keys.top_ups(scope, when.month)
        return {"topups_day": day, "topups_month": month}

    def _daily_usage_keys(self, request: Request, now: Millis) -> KeyMap:
        day = BEIJING.windows(now).day
        return {
            "daily_usage": self._keys.daily_usage(day, request.model, request.key_hash),
            "balance_at_sync": self._keys.balance_at_sync(request.model),
        }

    def _holding(self, request: Request) -> list[str]:
        """Scopes in which something is reserved."""
        asked = {"tenant": bool(request.tenant), "model": self._gate.engine is not None}
        return [name for name, true in {**asked, "global": self._gate.spend is not None}.items() if true]

    def _counted(self, request: Request) -> list[str]:
        """Scopes of which the engine may keep a counter."""
        return self._holding(request) if self._gate.engine is not None else []

    def _reserved(self, admission: Admission) -> dict[str, int]:
        if not admission.terms.held:
            return {}
        amounts = {"global": admission.terms.money}
        reserved = {name: amounts.get(name, admission.request.tokens) for name in self._holding(admission.request)}
        return _given(**reserved)

    def _scope(self, name: str, request: Request) -> str:
        return {"model": f"model:{request.model}", "tenant": f"tenant:{request.tenant}"}.get(name, "global")

    def _rate(self, name: str, rate: Rate | None, keys: KeyMap) -> list[dict[str, Any]]:
        if rate is None or f"rate_{name}" not in keys:
            return []
        return [{"name": name, "emission": -(-rate.per * 1000 // rate.calls), "burst": rate.calls}]

    def _price(self, model: str) -> dict[str, int] | None:
        price = None if self._gate.spend is None else self._gate.spend.prices.get(model)
        return None if price is None else price.as_dict()

    def _floors(self, keys: KeyMap) -> dict[str, int]:
        floors = {name: self._memory.floors.get(key) for name, key in keys.items() if key and name[:7] == "budget_"}
        return _given(**floors)

    def _now(self, now: Millis) -> Millis:
        return now if self._fixed else 0


def _given(**values: Any) -> dict[str, Any]:
    """Without what is None: JSON's null would be a value in Lua."""
    return {name: value for name, value in values.items() if value is not None}
