"""The book of everything at once: what the day costs over all models, and the kill switch.

The money of a day trips the switch when it reaches the limit, and the trip stays: an estimate that falls again opens
nothing by itself. It ends with the day. A `resume` ends it sooner by granting another `daily` on top of what the day
cost by then, so it holds against the same sum, and the switch still closes if the money runs on.

Everything is counted when it is told, not when it is ruled on: how facts are batched changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from rules.calendar import Day
from rules.control_facts import order_facts
from rules.diary import Diary, entered
from rules.facts import Charge, Heard, Scope, Stored
from rules.moment import DAY, Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.pool_state import NO_POOL
from rules.prices import NANO, Nano, in_words, to_nano
from rules.records import ControlAction
from rules.ruling import Ruling, ruled
from rules.scope_book import Situation
from rules.scope_facts import FactValue
from rules.switch import Order

WALL = "spend"
MOST = 2**52
"""What is told of one number. Gates add two of them in Redis's doubles, which are exact up to twice as much."""

CARRIED = 2**50  # when the days before cost more, the counter begins anew


class Spent(Struct, kw_only=True):
    """What is kept of a day's money: the limit that was reached, and what the day had cost at the last resume."""

    reached: Nano = 0
    raised: Nano = 0
    rounds: int = 0  # resumes that granted more


class GlobalRow(Diary, kw_only=True):
    """Stored beside the charges."""

    days: dict[Day, Spent] = field(default_factory=dict)
    carried: Nano = 0  # of days that are closed
    closed_before: Day = ""


class Costs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a decision about everything stands on."""

    models: dict[str, Nano] = {}  # what each cost today, on the policy's basis
    assumed: Nano = 0  # of that, what models without a price cost
    resumed: int = 0  # how often the day was resumed
    orders: tuple[Order, ...] = ()


class GlobalBook:
    """The book of the scope `global`."""

    wakes: Millis = 0  # there is one of it

    def __init__(self, scope: Scope, policy: Policy, row: Any = None) -> None:
        self.scope = scope
        self._row = GlobalRow() if row is None else msgspec.convert(row, GlobalRow)
        self._charges: dict[Day, dict[str, Charge]] = {}
        self._orders: list[Order] = []
        self.adopt(policy)

    def adopt(self, policy: Policy) -> None:
        """Go by this policy from now on: what days have cost is compared with its limit, on its basis."""
        self._policy = policy
        self._calendar = policy.calendar()
        self._daily = None if policy.spend is None else to_nano(policy.spend.daily)
        self._basis = "list" if policy.spend is None else policy.spend.basis
        for day in self._charges:
            self._check(day)

    def merge(self, fact: Stored) -> bool:
        """Take a model's day unless a later word about it came first."""
        if not isinstance(fact, Charge) or fact.day < self._row.closed_before:
            return False
        models = self._charges.setdefault(fact.day, {})
        known = models.get(fact.model)
        if known is not None and known.version >= fact.version:
            return False
        models[fact.model] = fact
        self._check(fact.day)
        return True

    def hear(self, heard: Heard) -> None:
        """Take an order. Repeats change nothing."""
        order = self._row.switch.hear(heard)
        if order is None:
            return
        self._orders.append(order)
        if order.action == ControlAction.RESUME:
            self._resume(self._calendar.day(order.at))

    def tidy(self, now: Millis) -> list[str]:
        """Close days that nothing can change any more. Our own clock alone closes none."""
        newest = max(self._charges, default="")
        if not newest:
            return []
        row, known = self._row, min(now, self._calendar.end(newest))
        oldest = self._calendar.day(known - (self._policy.close_after_days + 1) * DAY)
        gone = [day for day in self._charges if day < oldest]
        row.carried += sum(self.total(day) for day in gone)
        if row.carried > CARRIED:
            row.carried, row.born = 0, now
        row.closed_before = max(row.closed_before, oldest)
        row.days = {day: spent for day, spent in row.days.items() if day >= oldest}
        return [charge.key for day in gone for charge in self._charges.pop(day).values()]

    def is_over(self, until: Millis) -> bool:  # noqa: ARG002
        """There is always the one."""
        return False

    def keys(self) -> list[str]:
        """Of the charges that are kept."""
        return [charge.key for models in self._charges.values() for charge in models.values()]

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        """Rule on the day's money and on the orders in force."""
        now, rulebook = situation.now, situation.rulebook
        row, day = self._row, self._calendar.day(now)
        row.born = row.born or now
        verdict = rulebook.decide("global", self._facts(day, now), row.rules, now)
        row.rules = verdict.memory
        limit = self.limit(day)
        ruling = ruled(
            verdict,
            self._policy,
            scope=self.scope,
            at=now,
            day=day,
            until=self._until(day, now),
            counter=str(row.born),
            orders=row.switch.told,
            wall="" if limit is None else WALL,
            limit=None if limit is None else min(MOST, limit),
            used=min(MOST, self.total(day)),
            base=min(MOST, row.carried + sum(self.total(other) for other in self._charges if other < day)),
            guarded={each: money for each in (self._calendar.previous(day), day) if (money := self._guarded(each))},
            basis=self._basis,
            unit=self._policy.currency,
            money={"assumed": self._assumed(day)},
            bounds=replace(NO_POOL, grant=row.days.get(day, Spent()).rounds),
        )
        orders, self._orders = tuple(self._orders), []
        costs = self._costs(day, orders)
        return entered(row, ruling, before, self._policy.alerts, orders=orders, because=lambda: costs)

    def stored(self) -> GlobalRow:
        """The row as it stands."""
        return self._row

    def total(self, day: Day) -> Nano:
        """What a day cost over all models, on the policy's basis."""
        return sum(self._cost(charge) for charge in self._charges.get(day, {}).values())

    def limit(self, day: Day) -> Nano | None:
        """What a day may cost."""
        return None if self._daily is None else self._daily + self._row.days.get(day, Spent()).raised

    def _check(self, day: Day) -> None:
        limit, total = self.limit(day), self.total(day)
        if limit is not None and total >= limit:
            spent = self._row.days.setdefault(day, Spent())
            spent.reached = max(spent.reached, limit)

    def _is_tripped(self, day: Day) -> bool:
        """The limit was reached and is no higher since: a resume raises it, and so does the policy."""
        spent, limit = self._row.days.get(day), self.limit(day)
        return spent is not None and limit is not None and spent.reached >= limit

    def _resume(self, day: Day) -> None:
        if self._is_tripped(day):
            spent = self._row.days[day]
            spent.raised = max(self.total(day), spent.reached)
            spent.rounds += 1

    def _until(self, day: Day, now: Millis) -> Millis | None:
        """A kill that was ordered ends as ordered, but not before a trip does; everything else with the day."""
        end, order = self._calendar.end(day), self._row.switch.killed(now)
        if order is None:
            return end
        return order.until if order.until is None or not self._is_tripped(day) else max(order.until, end)

    def _cost(self, charge: Charge) -> Nano:
        return charge.cost_list if self._basis == "list" else charge.cost_charged

    def _guarded(self, day: Day) -> Nano:
        """The part of a day's money that guarding gateways told, at least: what they count by themselves on top of it
        is what we do not know of yet."""
        return sum(
            max(0, self._cost(each) - (each.apart_list if self._basis == "list" else each.apart_charged))
            for each in self._charges.get(day, {}).values()
        )

    def _assumed(self, day: Day) -> Nano:
        return sum(self._cost(charge) for charge in self._charges.get(day, {}).values() if charge.assumed)

    def _costs(self, day: Day, orders: tuple[Order, ...]) -> Costs:
        return Costs(
            models=dict(self._by_model(day)),
            assumed=self._assumed(day),
            resumed=self._row.days.get(day, Spent()).rounds,
            orders=orders,
        )

    def _by_model(self, day: Day) -> Iterator[tuple[str, Nano]]:
        for model, charge in sorted(self._charges.get(day, {}).items()):
            if money := self._cost(charge):
                yield model, money

    def _facts(self, day: Day, now: Millis) -> dict[str, FactValue]:
        used, limit, switch = self.total(day), self.limit(day), self._row.switch
        currency = self._policy.currency
        facts: dict[str, FactValue] = {
            "day": day,
            "used": used,
            "limit": limit,
            "limit_known": limit is not None,
            "share": used / limit if limit else 0.0,
            "reached": self._is_tripped(day),
            "money": used / NANO,
            "assumed": self._assumed(day) / NANO,
            "spent": f"{in_words(used)} {currency}",
            "budget": "" if limit is None else f"{in_words(limit)} {currency}",
        }
        return facts | order_facts(switch.killed(now), switch, now)
