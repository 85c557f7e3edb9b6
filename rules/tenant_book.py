"""One tenant's book: what it used by day, what it may use in its day and month, and the ruling that follows."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from rules.alerts import Alert
from rules.announce import Announced, announce
from rules.calendar import Calendar, Day
from rules.counter import Counter, add
from rules.day_book import DayBook
from rules.day_end import Refusing, refusing_after
from rules.diary import Ordered
from rules.facts import Heard, Partial, Scope, Stored
from rules.marks import Marks
from rules.moment import DAY, LATEST, SECOND, Millis
from rules.outcome import Outcome
from rules.policy import Budget, Policy
from rules.records import Control, ControlAction
from rules.rule_memory import Held
from rules.rulebook import Verdict
from rules.ruling import Ruling, ruled
from rules.scope_book import Situation
from rules.switch import ORDERS_TOLD, Order, Switch, taken
from rules.tenant_budget import Allowance, Grant, Window, in_force, month_of, needed_from, next_month, numbers
from rules.tenant_facts import share, tenant_facts
from rules.thresholds import Raised, Standing, newly_left, newly_reached

PATIENCE: Millis = 60 * SECOND
FAR = 0.5
"""A tenant is looked at again after `PATIENCE`, not with every event, as long as it has used less than half of its
budget."""

QUOTAS_KEPT = 32  # budgets set by an operator; the newest in force counts
TOPUPS_KEPT = 1_000  # that still count; further ones are refused


class TenantRow(Struct, kw_only=True):
    """What of a book is stored beside its partials. A field that is missing keeps its default, and no sum is reset."""

    born: Millis = 0
    carried: int = 0  # tokens of days closed for good
    closed_before: Day = ""
    closed: dict[Day, int] = {}  # of those the days that still bear on a limit
    topups: list[Grant] = []
    quotas: list[Grant] = []
    orders: list[str] = []  # ids of what counted lately: an order counts once
    grant: int = 0  # how many orders changed a limit: each opens a new round of alerts
    switch: Switch = field(default_factory=Switch)  # the latest kill or resume
    announced: Announced = Announced()
    by_window: dict[str, Raised] = {}  # day, month -> thresholds announced
    refusing: Refusing = Refusing()
    ended: tuple[Day, Millis] | None = None  # a day whose usage is not complete yet, and how long calls were refused
    told: Ruling | None = None  # the newest in the history
    rules: dict[str, Held] = {}  # what rules with `for:`, `clear:` or a ban remember


class TenantBook:
    """The book of one tenant. Fails open where nothing is known: usage before metering began is not counted."""

    def __init__(self, scope: Scope, policy: Policy, row: TenantRow) -> None:
        self.scope = scope
        self.tenant = scope.partition(":")[2]
        self.row = row
        self.counter = Counter(row.carried, row.closed_before)
        self.wakes: Millis = 0
        self._orders: list[Order] = []  # that came since the last ruling
        self._since = 0  # tokens used since then
        self.adopt(policy)

    def adopt(self, policy: Policy) -> None:
        """Go on under this policy; the accounting day must be the same."""
        self._policy = policy
        self._calendar: Calendar = policy.calendar()
        self._budget: Budget = policy.tenants.get(self.tenant, policy.tenant_default)

    @classmethod
    def open(cls, scope: Scope, policy: Policy, row: Any = None) -> TenantBook:
        """The book with its stored row, or a new one."""
        return cls(scope, policy, TenantRow() if row is None else msgspec.convert(row, TenantRow))

    def merge(self, fact: Stored) -> bool:
        """Take metered usage; says whether it was news."""
        if not isinstance(fact, Partial):
            return False
        before = self.counter.part(fact)
        taken = self.counter.merge(fact)
        if taken:
            self._since += fact.sums.tokens - (0 if before is None else before.sums.tokens)
        return taken

    def hear(self, heard: Heard) -> None:
        """Take an order. The same again changes nothing."""
        order = heard.record
        if not isinstance(order, Control) or self._knows(order.id) or not self._obey(heard, order):
            return
        self.row.orders = [*self.row.orders, order.id][-TOPUPS_KEPT:]
        self.row.grant += order.action in (ControlAction.TOPUP, ControlAction.SET_QUOTA)
        self._orders.append(taken(heard, order))

    def tidy(self, now: Millis) -> list[str]:
        """Close days by the tenant's own usage: our clock alone closes none."""
        newest = max(self.counter.days, default=None)
        if newest is not None:
            known = min(now, self._calendar.end(newest))
            self.close_before(self._calendar.day(known - (self._policy.close_after_days + 1) * DAY), now)
        return []

    def close_before(self, day: Day, now: Millis) -> None:
        """Close all days before `day` for good: their sums go into the row, so that their partials may go."""
        row = self.row
        for partial in self.counter.close_before(day):
            row.closed[partial.day] = row.closed.get(partial.day, 0) + partial.sums.tokens
        needed = needed_from(self._calendar, row.topups, now)
        row.closed = {at: tokens for at, tokens in row.closed.items() if at >= needed}
        row.topups = in_force(row.topups, self._calendar, now)

    def is_over(self, known: Millis) -> bool:
        """Whether nothing of it bears on a limit any more: used again, it begins anew."""
        row = self.row
        needed = needed_from(self._calendar, row.topups, known)
        live = bool(in_force(row.topups, self._calendar, known) or row.quotas or row.ended)
        return row.switch.is_past(known) and not (live or self.counter.days or any(day >= needed for day in row.closed))

    def keys(self) -> list[str]:
        """None of its own: sums of many tenants share a row."""
        return []

    def consider(self, situation: Situation, before: Ruling | None) -> Outcome:
        """Rule, and find out what is new about it."""
        now, marks, rulebook = situation.now, situation.marks, situation.rulebook
        if before is not None and self._may_wait(before, now):
            self.wakes = before.at + PATIENCE
            return Outcome(before, [], history=False, news=False)
        self.row.born = self.row.born or now
        windows = self.windows(now)
        wall = _wall(windows)
        orders, self._orders, self._since = tuple(self._orders), [], 0
        facts = tenant_facts(self.tenant, windows, wall, self._budget.over, self.row.switch.killed(now))
        verdict = rulebook.decide("tenant", facts, self.row.rules, now)
        self.row.rules = verdict.memory
        ruling = self._ruling(now, windows, wall, verdict)
        alerts = self._announce(ruling, windows)
        self._turn(ruling, before or self.row.told)
        closed = self._close_day(marks)
        held = wall is not None or _says_more(ruling) or (before is not None and _says_more(before))
        differs = held and self._is_active(ruling) and _differs(before, ruling)
        news = bool(orders or alerts) or closed is not None or differs
        history = bool(orders) or (news and held and _verdict(self.row.told) != _verdict(ruling))
        if history:
            self.row.told = ruling
        turn = rulebook.wakes("tenant", self.row.rules)
        self.wakes = min(self._next_change(ruling, now), LATEST if turn is None else turn)
        return Outcome(ruling, alerts, history, news, because=lambda: Ordered(orders=orders), closed=closed)

    def windows(self, now: Millis) -> tuple[Window, Window]:
        """The tenant's day and month."""
        row = self.row
        used = dict(row.closed)
        for day in self.counter.days:
            used[day] = used.get(day, 0) + self.counter.tokens(day)
        return Allowance(self._calendar, self._budget, row.topups, row.quotas, used).windows(now)

    def stored(self) -> TenantRow:
        """The row as it stands."""
        self.row.carried, self.row.closed_before = self.counter.carried, self.counter.closed_before
        return self.row

    def _knows(self, name: str) -> bool:
        return name in self.row.orders or any(each.id == name for each in (*self.row.topups, *self.row.quotas))

    def _obey(self, heard: Heard, order: Control) -> bool:
        """Whether the order is one for a tenant, and could be taken."""
        row = self.row
        if order.action in (ControlAction.KILL, ControlAction.RESUME):
            return row.switch.hear(heard) is not None
        if order.tokens is None:
            return False
        if order.action is ControlAction.TOPUP and len(row.topups) < TOPUPS_KEPT:
            row.topups = [*row.topups, _grant(order)]
        elif order.action is ControlAction.SET_QUOTA:
            row.quotas = sorted([*row.quotas, _grant(order)], key=lambda quota: quota.at)[-QUOTAS_KEPT:]
        else:
            return False
        return True

    def _may_wait(self, before: Ruling, now: Millis) -> bool:
        """Whether the budget is so far away that one more look a minute later does."""
        if self._orders or self.row.rules or self.row.ended is not None or before.until is None or now >= before.until:
            return False
        if self._calendar.day(now) != before.day or before.policy != self._policy.hash:
            return False
        near = before.limit is not None and share(before.used + self._since, before.limit) >= FAR
        return not near and before.at <= now < before.at + PATIENCE

    def _ruling(self, now: Millis, windows: tuple[Window, Window], wall: Window | None, verdict: Verdict) -> Ruling:
        day = windows[0]
        shown, killed = wall or day, self.row.switch.killed(now)
        return ruled(
            verdict,
            self._policy,
            scope=self.scope,
            at=now,
            day=day.name,
            until=killed.until if killed is not None and verdict.action == "kill" else verdict.until or shown.end,
            formula="budget",
            wall="" if wall is None else wall.kind,
            limit=shown.limit,
            used=shown.used,
            base=self._base(shown),
            counter=str(self.row.born),
            guarded=self._guarded(day.name),
            windows=numbers(windows),
            soft=self._budget.over == "warn",
            orders=tuple(self.row.orders[-ORDERS_TOLD:]),
        )

    def _base(self, window: Window) -> int:
        """What the counter that never resets stood at when a window began."""
        closed_since = sum(tokens for day, tokens in self.row.closed.items() if day >= window.first)
        return self.counter.before(window.first) - closed_since

    def _guarded(self, day: Day) -> dict[Day, int]:
        days = (self._calendar.previous(day), day)
        return {each: tokens for each in days if (tokens := self.counter.guarded(each))}

    def _announce(self, ruling: Ruling, windows: tuple[Window, Window]) -> list[Alert]:
        """Thresholds by window; what rules ask for by the day."""
        alerting, row = self._policy.alerts, self.row
        alerts, row.announced = announce(ruling, (), row.announced, replace(alerting, thresholds=()))
        alerts = [alert for alert in alerts if not alert.threshold]
        for window in windows:
            if window.limit is None:
                continue
            standing, raised = _standing(ruling, window, row.grant), row.by_window.get(window.kind, Raised())
            back, raised = newly_left(standing, raised)
            crossed, raised = newly_reached(standing, alerting.thresholds, raised, alerting.cooldown)
            alerts += [*back, *crossed]
            row.by_window[window.kind] = raised
        return alerts

    def _turn(self, ruling: Ruling, before: Ruling | None) -> None:
        """Note how the day before ended, if this is the first ruling of a day; and how long calls were refused."""
        row = self.row
        if before is not None and before.day < ruling.day and before.day in self.counter.days:
            row.ended = (before.day, row.refusing.until(self._calendar.end(before.day)))
        row.refusing = refusing_after(row.refusing, ruling, self._calendar.start(ruling.day))

    def _close_day(self, marks: Marks) -> DayBook | None:
        """The books of a day that has ended, once all its usage has arrived."""
        ended, complete = self.row.ended, marks.complete_until()
        if ended is None or complete is None or complete < self._calendar.end(ended[0]):
            return None
        self.row.ended = None
        sums = add(part.sums for part in self.counter.days.get(ended[0], {}).values())
        return DayBook(
            scope=self.scope,
            day=ended[0],
            used=sums.tokens,
            requests=sums.requests,
            cache_hits=sums.cache_hits,
            cached=sums.cached,
            saved=sums.saved,
            refused=ended[1],
        )

    def _is_active(self, ruling: Ruling) -> bool:
        """Used today or yesterday, or ordered about: of others nobody need hear."""
        days = (self._calendar.previous(ruling.day), ruling.day)
        return self.row.switch.kill is not None or any(day in self.counter.days for day in days)

    def _next_change(self, ruling: Ruling, now: Millis) -> Millis:
        """When time alone changes the ruling next."""
        if self.row.ended is not None:
            return 0
        if not self._is_active(ruling):  # until it may be forgotten
            return self._calendar.start(f"{next_month(month_of(ruling.day))}-01") + self._policy.close_after_days * DAY
        row = self.row
        ends = [each.until for each in (*row.topups, *row.quotas, row.switch.killed(now)) if each and each.until]
        begins = [quota.at for quota in row.quotas]  # by a clock that is ahead of ours
        return min([self._calendar.end(ruling.day), *(turn for turn in (*ends, *begins) if turn > now)])


def _wall(windows: tuple[Window, Window]) -> Window | None:
    """The window that has the least left."""
    found = [window for window in windows if window.left is not None]
    return min(found, key=lambda window: window.left or 0, default=None)


def _grant(order: Control) -> Grant:
    return Grant(id=order.id, at=order.at, tokens=order.tokens or 0, until=order.until)


def _standing(ruling: Ruling, window: Window, grant: int) -> Standing:
    return Standing(
        scope=ruling.scope,
        window=window.name,
        at=ruling.at,
        used=window.used,
        limit=window.limit,
        grant=grant,
        rule=ruling.rule,
        reason=ruling.told or ruling.reason,
        details={"wall": window.kind},
        until=window.end,
    )


def _differs(before: Ruling | None, after: Ruling) -> bool:
    return before is None or _numbers(before) != _numbers(after)


def _numbers(ruling: Ruling) -> tuple[object, ...]:
    return _verdict(ruling), ruling.used, ruling.base, ruling.guarded, ruling.windows


def _says_more(ruling: Ruling) -> bool:
    """Than that calls are allowed: it restricts them, or a rule is tried or fails."""
    return bool(ruling.action != "allow" or ruling.would or ruling.failed)


def _verdict(ruling: Ruling | None) -> tuple[object, ...]:
    """What belongs into the history when it changes: not what was used."""
    if ruling is None:
        return ()
    would = tuple(would.rule for would in ruling.would)
    failed = tuple(failure.partition(":")[0] for failure in ruling.failed)
    verdict = (ruling.day, ruling.action, ruling.rule, ruling.wall, ruling.limit, ruling.policy, ruling.until)
    return (*verdict, would, failed)
