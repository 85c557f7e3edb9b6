"""Redis away, slow, empty or full: what a gate then does is what the operator chose, within a bounded time."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from blastdoor_gateway.admission import Admission, Do, Layer, Outage, Outcome, Standing
from blastdoor_gateway.breaker import Breaker
from blastdoor_gateway.config import Budget, Failure, Falls, Gate, Mode
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.observer import Observer
from blastdoor_gateway.sync_guard import SyncGuard
from redis import Redis

from streams.lookout import Report
from tests.gateway.redis_of_ones_own import OwnRedis

BUDGET = Budget(daily_tokens=10_000)
NO_GRACE = Failure(grace_seconds=0.0)


class Heard(Observer):
    """Remembers."""

    def __init__(self) -> None:
        self.outages: list[Outage] = []
        self.breakers: list[bool] = []
        self.waiting: list[int] = []

    def outage(self, cause: Outage) -> None:
        self.outages.append(cause)

    def breaker(self, *, is_open: bool) -> None:
        self.breakers.append(is_open)

    def backlog(self, waiting: int) -> None:
        self.waiting.append(waiting)


Make = Callable[..., Guard]


@pytest.fixture
async def guard_at(own_redis: OwnRedis) -> AsyncIterator[Make]:
    """Guards on a Redis that may be stopped."""
    guards: list[Guard] = []

    def make(observer: Observer | None = None, **options: Any) -> Guard:
        gate = Gate(
            **{"engine": None, "per_ip": None, "per_user": None, "default": BUDGET, "wait_seconds": 0.2} | options
        )
        guards.append(Guard.connect(own_redis.url, gate, observer=observer))
        return guards[-1]

    yield make
    for guard in guards:
        await guard.close(0.1)


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    deadline = time.monotonic() + 60
    while not await true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def test_a_stopped_redis_refuses_paid_calls(own_redis: OwnRedis, guard_at: Make) -> None:
    """Budgets fall closed: during an outage no call passes, each refusal is quick and names its cause."""
    heard = Heard()
    guard = guard_at(heard, failure=NO_GRACE)
    assert (await guard.admit(model="m", tenant="t")).allowed
    own_redis.stop()
    began = time.monotonic()
    refused = [await guard.admit(model="m", tenant="t") for _ in range(100)]
    assert time.monotonic() - began < 30  # none waits for the one before
    assert {(a.action, a.layer, a.rule, a.local) for a in refused} == {
        (Do.REJECT, Layer.BUDGET, "redis-unreachable", True)
    }
    assert all((a.retry_after or 0) >= 1 for a in refused)
    assert heard.breakers == [True]
    assert heard.outages.count(Outage.PAUSED) > 90


@pytest.mark.parametrize(
    ("options", "tenant", "allowed"),
    [
        ({"failure": Failure(budget=Falls.OPEN, grace_seconds=0)}, "t", True),
        ({"failure": NO_GRACE, "default": Budget()}, "t", True),
        ({"failure": NO_GRACE}, "", True),
        ({"failure": Failure(rate=Falls.CLOSED, grace_seconds=0), "default": Budget()}, "t", True),
    ],
    ids=["open by choice", "no limit to keep", "no tenant", "no rate to keep"],
)
async def test_only_a_closed_layer_that_concerns_the_call_refuses(
    own_redis: OwnRedis, guard_at: Make, options: dict[str, Any], tenant: str, allowed: bool
) -> None:
    """A layer that is open by choice, or has nothing to keep for this call, refuses nothing."""
    own_redis.stop()
    admission = await guard_at(None, **options).admit(model="m", tenant=tenant)
    assert (admission.allowed, admission.warnings) == (allowed, ("redis-unreachable",))


async def test_the_grace_is_a_share_of_the_room_known(own_redis: OwnRedis, guard_at: Make) -> None:
    """Shortly after Redis was heard, calls pass out of a tenth of what remained then, and no more."""
    guard = guard_at(None, failure=Failure(grace_seconds=60, grace_share=0.1))
    assert (await guard.admit(model="m", tenant="t", estimate=1_000)).remaining == 9_000
    own_redis.stop()
    admissions = [await guard.admit(model="m", tenant="t", estimate=100) for _ in range(20)]
    assert sum(a.allowed for a in admissions) == 9
    assert not (await guard.admit(model="m", tenant="stranger", estimate=1)).allowed


async def test_a_frozen_redis_is_waited_for_a_bounded_time(own_redis: OwnRedis, guard_at: Make) -> None:
    """A Redis that accepts and never answers costs each of the first calls the wait, and later ones nothing."""
    heard = Heard()
    guard = guard_at(heard, failure=NO_GRACE, wait_seconds=0.05)
    await eventually(lambda: _allowed(guard))
    own_redis.freeze()
    try:
        times = [await _timed(guard) for _ in range(20)]
        assert max(times) < 0.5
        assert sum(times[5:]) < 0.2
        assert Outage.SLOW in heard.outages
    finally:
        own_redis.thaw()
    await eventually(lambda: _allowed(guard))
    assert heard.breakers == [True, False]


async def test_settlements_wait_for_redis_and_count_once(own_redis: OwnRedis, guard_at: Make) -> None:
    """Calls that end during an outage are counted when Redis is back, each once, with nobody asking."""
    heard = Heard()
    guard = guard_at(heard)
    admissions = [await guard.admit(model="m", tenant="t", estimate=100) for _ in range(5)]
    own_redis.freeze()
    outcomes = [(await guard.settle(admission, 50)).outcome for admission in admissions]
    assert set(outcomes) == {Outcome.KEPT}
    assert (await guard.settle(admissions[0], 50)).outcome is Outcome.REPEATED
    own_redis.thaw()

    async def sent() -> bool:
        standing = await guard.standing("t")
        return isinstance(standing, Standing) and (standing.day.used, standing.day.held) == (250, 0)

    await eventually(sent)
    assert heard.waiting[-1] == 0


async def test_a_settlement_whose_answer_was_lost_counts_once(own_redis: OwnRedis, guard_at: Make) -> None:
    """Redis takes a settlement and the answer is lost, and again when it is repeated: previous + actual, once."""
    guard = guard_at(None, wait_seconds=5.0)
    admission = await guard.admit(model="m", tenant="t", estimate=100)
    steps = guard.core.settle(admission, 50)
    call = next(steps)
    with Redis.from_url(own_redis.url) as redis:
        for _ in range(2):
            redis.eval(call.script.text, len(call.keys), *call.keys, *call.args)
    with pytest.raises(StopIteration) as end:
        steps.send(Outage.SLOW)
    assert end.value.value.outcome is Outcome.KEPT
    await guard._run(guard.core.resend())
    standing = await guard.standing("t")
    assert isinstance(standing, Standing)
    assert (standing.day.used, standing.day.held) == (50, 0)


async def test_a_redis_that_lost_everything_is_told_again(own_redis: OwnRedis, guard_at: Make) -> None:
    """Redis starts again empty: before the next call is let in, what was used there is back, and is not added up."""
    guards = [guard_at(None) for _ in range(3)]
    await guards[0].settle(await guards[0].admit(model="m", tenant="t", estimate=1), 1_400)
    for guard in guards:
        await guard.admit(model="m", tenant="t", estimate=1)
    own_redis.stop()
    own_redis.start()
    for guard in guards:
        await eventually(lambda guard=guard: _allowed(guard))  # type: ignore[misc]
    standing = await guards[1].standing("t")
    assert isinstance(standing, Standing)
    assert standing.day.used == 1_400


async def test_a_full_redis_is_an_outage(own_redis: OwnRedis, guard_at: Make) -> None:
    """A Redis that refuses to write for want of memory closes as one that is away does; nothing raises."""
    heard = Heard()
    guard = guard_at(heard, failure=NO_GRACE)
    with Redis.from_url(own_redis.url) as redis:
        redis.config_set("maxmemory", 1)
    refused = await guard.admit(model="m", tenant="t")
    assert (refused.allowed, refused.local, heard.outages) == (False, True, [Outage.ERROR])


async def test_an_outage_in_the_midst_of_traffic_loses_no_token(own_redis: OwnRedis, guard_at: Make) -> None:
    """Calls under way while Redis freezes: whoever was let in is settled in the end, and never twice."""
    guard = guard_at(None, failure=Failure(grace_seconds=60, grace_share=1.0), wait_seconds=0.05)
    await eventually(lambda: _allowed(guard))
    used = 0

    async def call(number: int) -> None:
        nonlocal used
        admission = await guard.admit(model="m", tenant="t", estimate=10, request_id=f"r{number}")
        await asyncio.sleep(0.01)
        if admission.allowed:
            settled = await guard.settle(admission, 10)
            used += settled.tokens
            assert settled.outcome in {Outcome.SETTLED, Outcome.KEPT}

    for number in range(60):
        if number == 20:
            own_redis.freeze()
        if number == 40:
            own_redis.thaw()
        await call(number)

    async def all_counted() -> bool:
        standing = await guard.standing("t")
        return isinstance(standing, Standing) and standing.day.used == used

    await eventually(all_counted)
    assert used >= 200


def test_the_blocking_guard_does_the_same(own_redis: OwnRedis) -> None:
    """Admit, refuse, settle, cancel, an outage and what was kept: the blocking guard answers as the other one."""
    gate = Gate(engine=None, per_ip=None, per_user=None, default=Budget(daily_tokens=100), wait_seconds=0.2)
    guard = SyncGuard.connect(own_redis.url, gate)
    first = guard.admit(model="m", tenant="t", estimate=60)
    assert (first.allowed, guard.admit(model="m", tenant="t", estimate=60).action) == (True, Do.DEGRADE)
    assert guard.settle(first, 10).used_today == 10
    second = guard.admit(model="m", tenant="t", estimate=90)
    assert guard.cancel(second).outcome is Outcome.SETTLED
    assert guard.top_up("t", "day", 50, grant_id="g") == 50
    third = guard.admit(model="m", tenant="t", estimate=140)
    own_redis.freeze()
    assert guard.settle(third, 20).outcome is Outcome.KEPT
    own_redis.thaw()
    fourth = _first_allowed(guard)
    assert guard.settle(fourth, 5).outcome is Outcome.SETTLED
    standing = guard.standing("t")
    assert isinstance(standing, Standing)
    assert (standing.day.used, standing.day.held, standing.day.granted) == (35, 0, 150)
    guard.close()


def test_a_breaker_lets_one_try_after_the_pause() -> None:
    """Three failures open it; after the pause one may ask; the pause doubles until an answer closes it."""
    breaker = Breaker(failures=3, pause=1.0, longest=3.0)
    for _ in range(3):
        assert breaker.lets(0.0)
        breaker.failed(0.0)
    assert (breaker.lets(0.9), breaker.wait(0.9)) == (False, pytest.approx(0.1))
    assert (breaker.lets(1.0), breaker.lets(1.0)) == (True, False)
    breaker.failed(1.0)
    assert (breaker.lets(2.9), breaker.lets(3.0)) == (False, True)
    breaker.failed(3.0)
    assert (breaker.lets(5.9), breaker.lets(6.0)) == (False, True)
    breaker.abandoned()
    assert breaker.lets(6.0)
    breaker.heard()
    assert (breaker.is_open, breaker.lets(6.0), breaker.lets(6.0)) == (False, True, True)


async def _allowed(guard: Guard) -> bool:
    admission = await guard.admit(model="m", tenant="t", estimate=1)
    if admission.allowed and not admission.local:
        await guard.cancel(admission)
        return True
    return False


async def _timed(guard: Guard) -> float:
    began = time.monotonic()
    assert not (await guard.admit(model="m", tenant="t")).allowed
    return time.monotonic() - began


def _first_allowed(guard: SyncGuard) -> Admission:
    deadline = time.monotonic() + 60
    while True:
        admission = guard.admit(model="m", tenant="t", estimate=1)
        if admission.allowed and not admission.local:
            return admission
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def test_calls_that_passed_unasked_are_told_to_the_engine(own_redis: OwnRedis, guard_at: Make) -> None:
    """Open by choice, Redis away for five calls: the first settlement that it takes tells the engine of them."""
    guard = guard_at(None, failure=Failure(budget=Falls.OPEN, grace_seconds=0))
    own_redis.stop()
    passed = [await guard.admit(model="m", tenant="t") for _ in range(5)]
    assert all(admission.allowed for admission in passed)
    own_redis.start()
    for admission in passed:
        await guard.settle(admission, 10)
    with Redis.from_url(own_redis.url, decode_responses=True) as client:
        await eventually(lambda: _holds(client, guard.core.keys.open_gates))
        ((name, text),) = client.hgetall(guard.core.keys.open_gates).items()
        assert 0 < client.pttl(guard.core.keys.open_gates) <= 3_600_000
    report = msgspec.json.decode(text, type=Report)
    assert (report.calls, report.why in {cause.value for cause in Outage}) == (5, True)
    assert name.endswith(f":{os.getpid()}")
    assert abs(report.at - time.time() * 1000) < 60_000


async def test_calls_that_no_limit_concerned_are_not_told(own_redis: OwnRedis, guard_at: Make) -> None:
    """Without a tenant there was nothing to keep, and a gate that observes keeps nothing."""
    observing = guard_at(None, failure=NO_GRACE, mode=Mode.OBSERVE)
    guard = guard_at(None, failure=NO_GRACE)
    own_redis.stop()
    passed = [(guard, await guard.admit(model="m")), (observing, await observing.admit(model="m", tenant="t"))]
    assert all(admission.allowed for _, admission in passed)
    own_redis.start()
    for admitting, admission in passed:
        await admitting.settle(admission, 10)
    with Redis.from_url(own_redis.url, decode_responses=True) as client:
        await eventually(lambda: _settled(client))
        assert not client.exists(guard.core.keys.open_gates)


async def _holds(client: Any, key: str) -> bool:
    return bool(client.exists(key))


async def _settled(client: Any) -> bool:
    return len(list(client.scan_iter("blastdoor:settled:*"))) == 2
