"""A tenant's course in a judge: usage, orders and the clock, and the ruling that follows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from rules.alerts import Alert
from rules.calendar import Calendar
from rules.day_book import DayBook
from rules.facts import Heard, Tally, Watermark
from rules.judge import Judge
from rules.moment import Millis, from_datetime
from rules.policy import Budget, Policy
from rules.records import Control, ControlAction
from rules.ruling import Ruling
from streams.policy_file import default_rulebook

SHANGHAI = Policy(tenant_default=Budget(daily_tokens=1_000))


class Story:
    """One tenant, `acme`, in one source partition and in one judge."""

    def __init__(self, policy: Policy = SHANGHAI) -> None:
        self.policy = policy
        self.calendar: Calendar = policy.calendar()
        self.rows: dict[str, Any] = {}
        self.alerts: list[Alert] = []
        self.closed: list[DayBook] = []
        self.used: dict[str, int] = {}
        self.offset = self.orders = 0
        self.judge = self._judge()

    def at(self, text: str) -> Millis:
        """An instant in the policy's zone."""
        return from_datetime(datetime.fromisoformat(text).replace(tzinfo=self.calendar.zone))

    def use(self, text: str, tokens: int) -> Ruling | None:
        """Tokens used at an instant, and the ruling then."""
        now = self.at(text)
        day = self.calendar.day(now)
        self.used[day] = self.used.get(day, 0) + tokens
        self.offset += 1
        self.judge.apply(Tally(0, day, 3, 0, self.offset, {"acme": [self.used[day], 1, 0, 0, 0, 0]}))
        return self.tick(text)

    def tick(self, text: str) -> Ruling | None:
        """The clock reaches an instant."""
        now = self.at(text)
        self.judge.apply(Watermark("usage", 0, 0, self.offset + 1, now, 0))
        for outcome in self.judge.rule(now, every=True):
            self.alerts += outcome.alerts
            self.closed += [outcome.closed] if outcome.closed else []
        for key, row in self.judge.take_rows().items():
            self.rows.pop(key, None) if row is None else self.rows.update({key: row})
        return self.judge.ruling("tenant:acme")

    def order(self, text: str, action: ControlAction, tokens: int | None = None, **fields: Any) -> Control:
        """An operator's order, heard at once."""
        self.orders += 1
        until = fields.pop("until", None)
        order = Control(
            id=fields.pop("id", f"o{self.orders}"),
            at=self.at(text),
            by="lin",
            why="asked for",
            action=action,
            scope="tenant:acme",
            tokens=tokens,
            until=None if until is None else self.at(until),
        )
        self.hear(order)
        return order

    def hear(self, order: Control) -> None:
        self.orders += 1
        self.judge.apply(Heard("tenant:acme", order, f"controls/0/{self.orders}"))

    def restart(self) -> None:
        """A new owner, with the rows that were stored."""
        self.judge = self._judge()
        self.judge.restore(msgspec.json.decode(msgspec.json.encode(self.rows)))

    def _judge(self) -> Judge:
        return Judge(self.policy, default_rulebook(self.policy), usage_partitions=1)

    def thresholds(self) -> list[tuple[str, float | None]]:
        """What was told of shares of a budget."""
        return [(alert.window, alert.threshold) for alert in self.alerts if alert.kind.value == "threshold"]
