"""Reservations against a simple model, over everything that may happen to them, on a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from blastdoor_gateway.admission import Admission, Do, Outcome, Standing, Window
from blastdoor_gateway.config import Budget, Gate, Over
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.link import open_redis
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from redis import Redis

from tests.gateway.conftest import HOUR, NOON, Clock

LEASE = 2 * HOUR
DAILY, MONTHLY = 1_000, 2_500
BUDGET = Budget(daily_tokens=DAILY, monthly_tokens=MONTHLY, over=Over.BLOCK)
BEIJING = timezone(timedelta(hours=8))
TOKENS = st.integers(1, 400)


def windows(now: int) -> tuple[str, str]:
    local = datetime.fromtimestamp(now / 1000, UTC).astimezone(BEIJING)
    return f"{local:%Y-%m-%d}", f"{local:%Y-%m}"


@dataclass
class Hold:
    """A reservation as the model sees it."""

    tokens: int
    day: str
    ends: int


@dataclass
class Books:
    """The model: what was used and granted per window, and what is reserved. Nothing in it expires by itself."""

    holds: dict[str, Hold] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    granted: dict[str, int] = field(default_factory=dict)

    def held(self, window: str, now: int) -> int:
        return sum(h.tokens for h in self.holds.values() if h.day.startswith(window) and h.ends > now)

    def fits(self, tokens: int, now: int) -> bool:
        limits = zip(windows(now), (DAILY, MONTHLY), strict=True)
        return all(self.window(name, limit, now).remaining >= tokens for name, limit in limits)

    def window(self, name: str, limit: int, now: int) -> Any:
        return Window(used=self.used.get(name, 0), held=self.held(name, now), granted=limit + self.granted.get(name, 0))

    def standing(self, now: int) -> Standing:
        day, month = windows(now)
        return Standing(day=self.window(day, DAILY, now), month=self.window(month, MONTHLY, now))

    def count(self, day: str, tokens: int) -> None:
        for name in (day, day[:7]):
            self.used[name] = self.used.get(name, 0) + tokens


class Reservations(RuleBasedStateMachine):
    """One tenant, one guard. `url` is set by the test."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.redis = Redis.from_url(self.url, decode_responses=True)
        self.redis.flushall()
        self.clock = Clock()
        gate = Gate(wait_seconds=5.0, per_ip=None, per_user=None, engine=None, default=BUDGET, lease=LEASE)
        self.guard = Guard(open_redis(self.url, 5.0), gate, clock=self.clock)
        self.books = Books()
        self.under_way: list[Admission] = []
        self.finished: list[Admission] = []
        self.cancelled: list[Admission] = []
        self.grants: set[str] = set()
        self.made = 0

    def do(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def teardown(self) -> None:
        self.do(self.guard.close())
        self.redis.close()
        self.loop.close()

    @rule(tokens=TOKENS)
    def admit(self, tokens: int) -> None:
        """It passes exactly when it fits into day and month; refused, it leaves no trace."""
        fits = self.books.fits(tokens, self.clock.now)
        self.made += 1
        admission = self.do(self.guard.admit(model="m", tenant="t", estimate=tokens, request_id=f"r{self.made}"))
        assert admission.allowed is fits
        assert (admission.action is Do.PROCEED) is fits
        if fits:
            day, _ = windows(self.clock.now)
            self.books.holds[admission.request_id] = Hold(tokens, day, self.clock.now + LEASE)
            self.under_way.append(admission)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def ask_again(self, data: st.DataObject) -> None:
        """A caller that lost the answer and asks again on the same day reserves nothing more."""
        before = data.draw(st.sampled_from(self.under_way))
        hold = self.books.holds.get(before.request_id)
        if hold is None or hold.ends <= self.clock.now or hold.day != windows(self.clock.now)[0]:
            return
        again = self.do(self.guard.admit_request(before.request))
        others = Books(
            {k: h for k, h in self.books.holds.items() if h is not hold}, self.books.used, self.books.granted
        )
        assert again.allowed is others.fits(hold.tokens, self.clock.now)
        if again.allowed:
            hold.ends = self.clock.now + LEASE

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), used=st.integers(1, 600))
    def settle(self, data: st.DataObject, used: int) -> None:
        """What was used counts in the day and month of the reservation, in whatever order calls end."""
        admission = data.draw(st.sampled_from(self.under_way))
        self.under_way.remove(admission)
        assert self.do(self.guard.settle(admission, used)).outcome is Outcome.SETTLED
        self.books.holds.pop(admission.request_id, None)
        self.books.count(admission.terms.day, used)
        self.finished.append(admission)

    @precondition(lambda self: self.finished)
    @rule(data=st.data(), used=st.integers(0, 600))
    def settle_again(self, data: st.DataObject, used: int) -> None:
        """A repetition counts nothing, even when Redis has lost its mark."""
        admission = data.draw(st.sampled_from(self.finished))
        outcome = self.do(self.guard.settle(admission, used)).outcome
        assert outcome is Outcome.REPEATED or (used == 0 and outcome is Outcome.SETTLED)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A call that did not take place gives back all it had."""
        admission = data.draw(st.sampled_from(self.under_way))
        self.under_way.remove(admission)
        self.do(self.guard.cancel(admission))
        self.books.holds.pop(admission.request_id, None)
        self.cancelled.append(admission)

    @precondition(lambda self: self.cancelled)
    @rule(data=st.data(), used=st.integers(1, 600))
    def settle_after_all(self, data: st.DataObject, used: int) -> None:
        """A cancelled call whose usage came after all is counted."""
        admission = data.draw(st.sampled_from(self.cancelled))
        self.cancelled.remove(admission)
        assert self.do(self.guard.settle(admission, used)).outcome is Outcome.SETTLED
        self.books.count(admission.terms.day, used)
        self.finished.append(admission)

    @precondition(lambda self: self.under_way)
    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """The caller dies: nobody settles. Its lease ends by itself."""
        self.under_way.remove(data.draw(st.sampled_from(self.under_way)))

    @rule(hours=st.sampled_from([1, 2, 3, 11, 12, 24, 24 * 9, 24 * 18]))
    def pass_time(self, hours: int) -> None:
        """Time goes on: over the end of leases, midnight and the end of the month."""
        self.clock.now += hours * HOUR
        self.under_way = [a for a in self.under_way if self.clock.now - a.at < 24 * 20 * HOUR]

    @rule()
    def flush(self) -> None:
        """Redis loses everything. What was used is known to the guard; reservations and top-ups are gone."""
        self.redis.flushall()
        self.books.holds.clear()
        self.books.granted.clear()
        self.grants.clear()

    @rule(tokens=st.integers(-200, 500), grant=st.integers(1, 3), window=st.sampled_from(["day", "month"]))
    def top_up(self, tokens: int, grant: int, window: str) -> None:
        """A grant counts once in its window."""
        name = windows(self.clock.now)[window == "month"]
        before = self.books.granted.get(name, 0)
        total = self.do(self.guard.top_up("t", window, tokens, grant_id=f"{name}-{grant}"))
        fresh = f"{name}-{grant}" not in self.grants
        assert total == before + (tokens if fresh else 0)
        self.grants.add(f"{name}-{grant}")
        self.books.granted[name] = total

    @invariant()
    def the_books_agree(self) -> None:
        """used + held + remaining = granted, in both windows, and each part is what the model says."""
        standing = self.do(self.guard.standing("t"))
        assert standing == self.books.standing(self.clock.now)
        for window in (standing.day, standing.month):
            assert window.used + window.held + window.remaining == window.granted

    @invariant()
    def everything_ends(self) -> None:
        """No key lives for ever."""
        assert [key for key in self.redis.scan_iter() if self.redis.ttl(key) < 0] == []


def test_reservations_agree_with_the_model(url: str) -> None:
    """Whatever happens in whatever order, the books of Redis are those of the model."""
    Reservations.url = url
    run_state_machine_as_test(Reservations, settings=settings(max_examples=40, stateful_step_count=40, deadline=None))


async def test_a_reservation_belongs_to_its_day(
    url: str, clock: Clock, guard_on: Callable[..., Guard], redis: Redis
) -> None:
    """Taken before midnight and settled after it: the day of the reservation has the tokens, the new day none."""
    guard = guard_on(url, default=BUDGET)
    clock.now = NOON + 12 * HOUR - 1
    admission = await guard.admit(model="m", tenant="t", estimate=300)
    clock.now += 1000
    settlement = await guard.settle(admission, 200)
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert settlement.used_today == 200
    assert (standing.day.used, standing.day.held, standing.month.used) == (0, 0, 200)
    assert redis.get("quota:tenant:t:20260813") == "200"
    assert redis.get("daily_usage:2026-08-14:m:none") == "200"


@pytest.mark.parametrize("used", [-1, True, 2.5])
async def test_what_is_no_number_of_tokens_is_refused(url: str, guard_on: Callable[..., Guard], used: Any) -> None:
    """Settling with a negative number, a fraction or a truth changes nothing: the reservation stays."""
    guard = guard_on(url, default=BUDGET)
    admission = await guard.admit(model="m", tenant="t", estimate=100)
    assert (await guard.settle(admission, used)).outcome is Outcome.INVALID
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert (standing.day.used, standing.day.held) == (0, 100)


async def test_a_cancelled_id_may_come_again(url: str, guard_on: Callable[..., Guard]) -> None:
    """Cancelled, admitted again under the same id, cancelled again: nothing stays reserved."""
    guard = guard_on(url, default=BUDGET)
    for _ in range(2):
        admission = await guard.admit(model="m", tenant="t", estimate=100, request_id="r")
        assert admission.allowed
        assert (await guard.cancel(admission)).outcome is Outcome.SETTLED
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert standing.day.held == 0


async def test_dead_callers_block_nobody(url: str, clock: Clock, guard_on: Callable[..., Guard]) -> None:
    """Ten callers die before they settle; when their leases have ended, all of the budget is there again."""
    guard = guard_on(url, default=BUDGET, lease=LEASE)
    for _ in range(10):
        assert (await guard.admit(model="m", tenant="t", estimate=100)).allowed
    assert not (await guard.admit(model="m", tenant="t", estimate=100)).allowed
    clock.now += LEASE
    admission = await guard.admit(model="m", tenant="t", estimate=1_000)
    assert (admission.allowed, admission.remaining) == (True, 0)


async def test_a_tenant_never_seen_has_the_default_budget(url: str, guard_on: Callable[..., Guard]) -> None:
    """Eight parallel first calls of an unknown tenant with a budget of one token: none passes."""
    guard = guard_on(url, default=Budget(daily_tokens=1))
    calls = [guard.admit(model="m", tenant="new", estimate=64) for _ in range(8)]
    assert [admission.action for admission in await asyncio.gather(*calls)] == [Do.DEGRADE] * 8


async def test_use_beyond_the_reservation_counts(url: str, guard_on: Callable[..., Guard]) -> None:
    """A call that used more than it had reserved is counted whole, even past the limit; the next is refused."""
    guard = guard_on(url, default=BUDGET)
    admission = await guard.admit(model="m", tenant="t", estimate=10)
    await guard.settle(admission, 5_000)
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert (standing.day.used, standing.day.remaining) == (5_000, -4_000)
    refused = await guard.admit(model="m", tenant="t", estimate=1)
    assert (refused.action, refused.rule, refused.retry_after) == (Do.REJECT, "daily-budget", 12 * 3600)


async def test_estimates_leave_nothing_behind(url: str, guard_on: Callable[..., Guard]) -> None:
    """Five estimates of 200 that fill the budget and turn out as 3 each leave 985."""
    guard = guard_on(url, default=BUDGET)
    admissions = [await guard.admit(model="m", tenant="t", estimate=200) for _ in range(5)]
    assert not (await guard.admit(model="m", tenant="t", estimate=1)).allowed
    for admission in admissions:
        await guard.settle(admission, 3)
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert standing.day.remaining == 985
