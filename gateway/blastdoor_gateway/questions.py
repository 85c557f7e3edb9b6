"""A call of a script for each thing a gate wants of Redis: which keys, which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from blastdoor_gateway.address import ban_names, rate_name
from blastdoor_gateway.admission import Admission, Request
from blastdoor_gateway.admit_call import CALL, Common, common_of
from blastdoor_gateway.calendar import BEIJING, Calendar, Millis, Windows
from blastdoor_gateway.config import Gate
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.memory import Memory
from blastdoor_gateway.money import Nano, Tokens
from blastdoor_gateway.scripts import ADMIT, REMEMBER, SETTLE, STANDING, TOP_UP, Call, Words, call_of

TOLD = {"budget_day": "used_day", "budget_month": "used_month", "budget_global": "used_spend"}
"""Counts that never shrink, by the name under which scripts tell them."""

KeyMap = dict[str, str]


class Questions:
    """Makes calls; asks nobody. `fixed_clock`: scripts take the gate's time instead of the server's."""

    def __init__(self, gate: Gate, keys: Keys, memory: Memory, *, fixed_clock: bool) -> None:
        self._gate = gate
        self._keys = keys
        self._memory = memory
        self._calendar = Calendar(gate.timezone, gate.day_starts)
        self._fixed = fixed_clock
        held = {"tenant": True, "model": gate.engine is not None, "global": gate.spend is not None}
        self._holds = tuple(name for name, true in held.items() if true)

    def windows(self, now: Millis) -> Windows:
        return self._calendar.windows(now)

    def to_text(self, at: Millis) -> str:
        return self._calendar.to_text(at)

    def admit(self, request: Request, counters: Mapping[str, str], now: Millis) -> Call:
        """May this call go on? `counters`: of the engine, as far as known."""
        when = self.windows(now)
        common = self._common(request, when, counters)
        floors = self._memory.floors
        seen = [0 if key is None else floors.get(key) or 0 for key in common.counts]
        own = Words.of(CALL.pack(self._now(now), request.tokens, *seen), f"|{when.day}|{request.request_id}")
        keys = common.own_keys(
            self._keys.settled(request.request_id), tuple(self._keys.answer(digest) for digest in request.answers)
        )
        return Call(ADMIT, (common.keys, keys), (own, common.args))

    def settle(self, admission: Admission, tokens: Tokens, money: Nano, now: Millis) -> Call:
        """Count what a call used, and give back what it had reserved."""
        request, terms, ended = admission.request, admission.terms, self.windows(now)
        leases = {
            name: f"{money_or_tokens}|{terms.day}|{request.request_id}"
            for name, money_or_tokens in self._reserved(admission).items()
        }
        keys: KeyMap = {"settled": self._keys.settled(request.request_id)}
        keys |= {f"held_{name}": self._keys.held(_scope(name, request)) for name in self._holding(request)}
        keys |= self._budget_keys(request, terms.day, terms.month)
        for name in self._counted(request):
            scope, counter = _scope(name, request), terms.counters.get(name, "")
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
        known = self._memory.counters
        return {name: known.get(_scope(name, request)) or "" for name in self._counted(request)}

    def learn_counters(self, request: Request, answer: Mapping[str, str]) -> None:
        """Take over which counters the engine has."""
        for name in self._counted(request):
            self._memory.counters.put(_scope(name, request), answer[name])

    def raise_floors(self, admission: Admission, found: Mapping[str, Any]) -> None:
        """Remember the counts that a script has told: they must never shrink."""
        keys = self._budget_keys(admission.request, admission.terms.day, admission.terms.month)
        for count, told in TOLD.items():
            self._memory.raise_floor(keys.get(count), found.get(told))

    def _common(self, request: Request, when: Windows, counters: Mapping[str, str]) -> Common:
        """What calls of the same caller to the same model have in common; put together once a day."""
        kind = (request.model, request.tenant, request.user, request.address, when.day, *counters.values())
        found = self._memory.common.get(kind)
        if found is None:
            keys = self._caller_keys(request) | self._counted_keys(request, when, counters)
            found = common_of(self._gate, keys, self._keys.nobody, request, when, counters)
            self._memory.common.put(kind, found)
        return found

    def _counted_keys(self, request: Request, when: Windows, counters: Mapping[str, str]) -> KeyMap:
        """Decisions about what is counted, and where it is counted."""
        keys = self._keys
        found: KeyMap = {"decision_global": keys.decision("global")}
        if self._gate.engine is not None:
            found |= {"heartbeat": keys.engine, "seen": keys.engine_seen}
            found |= {"decision_model": keys.decision(f"model:{request.model}")}
        found |= {f"held_{each}": keys.held(_scope(each, request)) for each in self._holding(request)}
        for each in self._counted(request):
            scope = _scope(each, request)
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
            if self._gate.per_user is not None:
                found["rate_user"] = keys.rate(f"user:{request.tenant}/{request.user}")
        if request.address:
            if self._gate.per_ip is not None:
                found["rate_ip"] = keys.rate(f"ip:{rate_name(request.address)}")
            bans = enumerate(ban_names(request.address), 1)
            found |= {f"decision_ip_{place}": keys.decision(f"ip:{net}") for place, net in bans}
        return found

    def _budget_keys(self, request: Request, day: str, month: str) -> KeyMap:
        kind = (request.tenant, day, month)
        known = self._memory.budgets.get(kind)
        if known is not None:
            return known
        found: KeyMap = {}
        if request.tenant:
            scope = f"tenant:{request.tenant}"
            found |= {"budget_day": self._keys.budget(scope, day), "budget_month": self._keys.budget(scope, month)}
            if self._gate.legacy:
                found["quota"] = self._keys.tenant_quota(request.tenant, day)
        if self._gate.spend is not None:
            found["budget_global"] = self._keys.budget("global", day)
        self._memory.budgets.put(kind, found)
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

    def _holding(self, request: Request) -> Sequence[str]:
        """Scopes in which something is reserved."""
        return self._holds if request.tenant else self._holds[1:]

    def _counted(self, request: Request) -> Sequence[str]:
        """Scopes of which the engine may keep a counter."""
        return self._holding(request) if self._gate.engine is not None else ()

    def _reserved(self, admission: Admission) -> dict[str, int]:
        if not admission.terms.held:
            return {}
        amounts = {"global": admission.terms.money}
        reserved = {name: amounts.get(name, admission.request.tokens) for name in self._holding(admission.request)}
        return _given(**reserved)

    def _floors(self, keys: KeyMap) -> dict[str, int]:
        floors = {name: self._memory.floors.get(key) for name, key in keys.items() if key and name[:7] == "budget_"}
        return _given(**floors)

    def _now(self, now: Millis) -> Millis:
        return now if self._fixed else 0


def _scope(name: str, request: Request) -> str:
    if name == "global":
        return name
    return f"tenant:{request.tenant}" if name == "tenant" else f"model:{request.model}"


def _given(**values: Any) -> dict[str, Any]:
    """Without what is None: JSON's null would be a value in Lua."""
    return {name: value for name, value in values.items() if value is not None}
