"""The book of a user or an address: what an operator ordered about it, and what rules make of that."""

from __future__ import annotations

from typing import Any

import msgspec

from rules.control_facts import person_facts
from rules.diary import Diary, entered
from rules.facts import Heard, Scope, Stored, kind_of
from rules.moment import LATEST, Millis
from rules.outcome import Outcome
from rules.policy import Policy
from rules.records import ControlAction
from rules.ruling import Ruling, ruled
from rules.scope_book import Situation
from rules.switch import Order


class SwitchBook:
    """The book of one scope in which nothing is counted."""

    def __init__(self, scope: Scope, policy: Policy, row: Any = None) -> None:
        self.scope = scope
        self.wakes: Millis = 0
        self._row = Diary() if row is None else msgspec.convert(row, Diary)
        self._orders: list[Order] = []
        self.adopt(policy)

    def adopt(self, policy: Policy) -> None:
        """Go by this policy from now on."""
        self._policy = policy
        self._calendar = policy.calendar()

    def merge(self, fact: Stored) -> bool:  # noqa: ARG002
        """Nothing is counted here."""
        return False

    def hear(self, heard: Heard) -> None:
        """Take an order. Repeats change nothing."""
        order = self._row.switch.hear(heard)
        self._orders += [] if order is None else [order]
        if order is not None and order.action == ControlAction.UNBAN:
            self._row.rules = {}  # also of what a rule laid on it

    def tidy(self, now: Millis) -> list[str]:  # noqa: ARG002
        """There are no rows beside the book's own."""
        return []

    def is_over(self, until: Millis) -> bool:
        """Whether no order is in force any more and gates have forgotten that one was."""
        switch = self._row.switch
        ordered = switch.kill is not None or switch.ban is not None
        return ordered and not self._row.rules and switch.is_past(until)

    def keys(self) -> list[str]:
        """There are none."""
        return []

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        """Rule by the orders in force. Until the next of them ends, only another order changes anything."""
        now, rulebook = situation.now, situation.rulebook
        row, order = self._row, self._row.switch.closed(now)
        row.born = row.born or now
        day = self._calendar.day(now)
        facts = person_facts(self.scope, day, row.switch, now)
        kind = kind_of(self.scope)
        verdict = rulebook.decide(kind, facts, row.rules, now)
        row.rules = verdict.memory
        # What a rule decides by itself ends with the day or its ban, in case nobody rules again.
        end = self._calendar.end(day)
        ends = (LATEST if order is None else order.until, rulebook.wakes(kind, row.rules))
        self.wakes = min([end, *(each for each in ends if each is not None)])
        until = order.until if order is not None else verdict.until or end
        told = row.switch.told
        ruling = ruled(
            verdict, self._policy, scope=self.scope, at=now, day=day, until=until, counter=str(row.born), orders=told
        )
        orders, self._orders = self._orders, []
        return entered(row, ruling, before, self._policy.alerts, orders=orders)

    def stored(self) -> Diary:
        """The row as it stands."""
        return self._row
