"""The layers in front of a call, one by one and in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from blastdoor_gateway.admission import Admission, Do, Layer
from blastdoor_gateway.config import Budget, Engine, Falls, Gate, Mode, Over, Rate, Spend
from blastdoor_gateway.contract import Keys
from blastdoor_gateway.guard import Guard
from blastdoor_gateway.money import Price, Tokens, to_nano
from redis import Redis

from tests.gateway.conftest import HOUR, Clock

Make = Callable[..., Guard]
Tell = Callable[..., Any]
KEYS = Keys()
ENGINE = Engine()
PRICES = {"m": Price.of("1", "2", "0.2")}


def refusal(admission: Admission) -> tuple[Do, Layer | None, str]:
    assert not admission.allowed
    return admission.action, admission.layer, admission.rule


class TestKill:
    """Layer 0."""

    @pytest.mark.parametrize("scope", ["global", "tenant:t", "user:t/u", "ip:10.1.2.3", "ip:10.1.2.0/24", "model:m"])
    async def test_a_kill_closes(self, url: str, guard_on: Make, tell: Tell, scope: str) -> None:
        """The kill switch and a ban close, whatever they are about; the refusal says which rule and why."""
        tell(scope, "kill", rule="stop", reason="by hand")
        guard = guard_on(url, engine=ENGINE if scope == "model:m" else None)
        admission = await guard.admit(model="m", tenant="t", user="u", ip="10.1.2.3")
        assert refusal(admission) == (Do.REJECT, Layer.KILL, "stop")
        assert (admission.reason, admission.retry_after) == ("by hand", 12 * 3600)

    async def test_an_ended_ban_binds_nobody(self, url: str, guard_on: Make, tell: Tell, clock: Clock) -> None:
        """A ban ends by itself at its `until`, even if nobody takes it away."""
        tell("user:t/u", "kill", until="2026-08-13T13:00:00+08:00")
        guard = guard_on(url)
        assert not (await guard.admit(model="m", tenant="t", user="u")).allowed
        clock.now += HOUR
        assert (await guard.admit(model="m", tenant="t", user="u")).allowed

    async def test_a_newer_schema_is_not_guessed_at(self, url: str, guard_on: Make, tell: Tell, redis: Redis) -> None:
        """A decision of a schema the gate does not know refuses, even where everything unknown is open."""
        tell("model:m")
        redis.hset(KEYS.decision("model:m"), "schema", "2")
        guard = guard_on(url, engine=Engine(unknown=Falls.OPEN, silent=Falls.OPEN))
        admission = await guard.admit(model="m")
        assert refusal(admission) == (Do.REJECT, Layer.KILL, "unknown-schema")
        assert "model" in admission.reason

    async def test_an_observing_engine_binds_nobody(self, url: str, guard_on: Make, tell: Tell) -> None:
        """A decision in the mode `observe` shows numbers; the gate does not hold calls against its ceiling."""
        tell("model:m", mode="observe", counted=500, ceiling=100, used=500, limit=100)
        assert (await guard_on(url, engine=ENGINE).admit(model="m", estimate=10)).allowed

    async def test_a_gate_on_its_own_is_held_by_its_own_limits(self, url: str, guard_on: Make, tell: Tell) -> None:
        """Ceilings of an engine that decides in the same Redis do not bind it; a kill switch does, as above."""
        tell("tenant:t", counted=100, ceiling=100)
        tell("global", counted=100, ceiling=100)
        guard = guard_on(url, default=Budget(daily_tokens=50), spend=Spend(daily=to_nano("1"), prices=PRICES))
        first = await guard.admit(model="m", tenant="t", estimate=40)
        assert (first.allowed, first.local, first.remaining) == (True, False, 10)
        assert refusal(await guard.admit(model="m", tenant="t", estimate=11))[2] == "daily-budget"


class TestRates:
    """Layer 1."""

    async def test_ten_a_minute_for_an_address_and_a_user(self, url: str, guard_on: Make, clock: Clock) -> None:
        """The eleventh call of an address in a minute is refused and told when to come back."""
        guard = guard_on(url, per_ip=Rate.of("10/min"), per_user=Rate.of("20/min"))
        seen = [await guard.admit(model="m", tenant="t", user="u", ip="10.0.0.1") for _ in range(11)]
        assert [admission.allowed for admission in seen] == [True] * 10 + [False]
        assert refusal(seen[-1]) == (Do.REJECT, Layer.RATE, "per-ip")
        assert seen[-1].retry_after == 6.0
        others = [await guard.admit(model="m", tenant="t", user="u", ip=f"10.0.1.{n}") for n in range(11)]
        assert [admission.allowed for admission in others] == [True] * 10 + [False]
        assert others[-1].rule == "per-user"
        clock.now += 6_000
        assert (await guard.admit(model="m", tenant="t", user="v", ip="10.0.0.1")).allowed

    async def test_a_house_of_ipv6_is_one_caller(self, url: str, guard_on: Make) -> None:
        """Addresses within a /64 share a rate; the next /64 has its own."""
        guard = guard_on(url, per_ip=Rate(1))
        assert (await guard.admit(model="m", ip="2001:db8::1")).allowed
        assert not (await guard.admit(model="m", ip="2001:db8::ffff:1")).allowed
        assert (await guard.admit(model="m", ip="2001:db8:0:1::1")).allowed

    async def test_asking_again_is_not_a_second_call(self, url: str, guard_on: Make) -> None:
        """A caller that lost the answer and asks again under the same id does not pay its rate twice."""
        guard = guard_on(url, per_user=Rate(1))
        first = await guard.admit(model="m", tenant="t", user="u", request_id="r")
        assert (first.allowed, (await guard.admit_request(first.request)).allowed) == (True, True)
        assert not (await guard.admit(model="m", tenant="t", user="u")).allowed

    async def test_an_id_that_was_settled_is_refused(self, url: str, guard_on: Make) -> None:
        """A request id used before would never be counted: it is refused."""
        guard = guard_on(url)
        await guard.settle(await guard.admit(model="m", tenant="t", request_id="r"), 5)
        again = await guard.admit(model="m", tenant="t", request_id="r")
        assert refusal(again) == (Do.REJECT, Layer.REQUEST, "request-id-reused")


class TestBudgets:
    """Layer 2."""

    async def test_the_engines_word_replaces_the_gates(self, url: str, guard_on: Make, tell: Tell) -> None:
        """Where the engine publishes a tenant's ceiling, that holds: exactly reaching it is within, one more is not."""
        tell("tenant:t", counted=900, ceiling=1_000, used=900, limit=1_000)
        guard = guard_on(url, engine=Engine(unknown=Falls.OPEN), default=Budget(daily_tokens=1))
        first = await guard.admit(model="m", tenant="t", estimate=100)
        assert (first.allowed, first.remaining) == (True, 0)
        second = await guard.admit(model="m", tenant="t", estimate=1)
        assert refusal(second) == (Do.DEGRADE, Layer.BUDGET, "tenant-budget")
        assert second.reason == "tenant t has used its tokens (1,000+1/1,000)"

    @pytest.mark.parametrize(
        ("over", "action"), [(Over.BLOCK, Do.REJECT), (Over.DEGRADE, Do.DEGRADE), (Over.WARN, Do.PROCEED)]
    )
    async def test_what_happens_beyond_a_budget(self, url: str, guard_on: Make, over: Over, action: Do) -> None:
        """Calls beyond a budget are refused, answered from the static path, or let pass with a warning."""
        guard = guard_on(url, default=Budget(daily_tokens=10, over=over))
        admission = await guard.admit(model="m", tenant="t", estimate=11)
        assert admission.action is action
        assert ("daily-budget" in admission.warnings) is admission.allowed

    async def test_months_bind_as_days_do(self, url: str, guard_on: Make, clock: Clock) -> None:
        """What a month grants ends with the month, not after thirty days."""
        guard = guard_on(url, default=Budget(monthly_tokens=100))
        await guard.settle(await guard.admit(model="m", tenant="t", estimate=100), 100)
        clock.now += 24 * HOUR
        refused = await guard.admit(model="m", tenant="t", estimate=1)
        assert refusal(refused) == (Do.DEGRADE, Layer.BUDGET, "monthly-budget")
        assert refused.retry_after == (17 * 24 + 12) * 3600
        clock.now += (17 * 24 + 12) * HOUR
        assert (await guard.admit(model="m", tenant="t", estimate=100)).allowed

    async def test_a_day_that_ended_blocks_nobody(self, url: str, guard_on: Make, tell: Tell, clock: Clock) -> None:
        """A tenant blocked by the engine until midnight is free after it, although the engine was down then."""
        tell("tenant:t", "block", counted=100, ceiling=100)
        guard = guard_on(url, engine=Engine(unknown=Falls.OPEN))
        assert not (await guard.admit(model="m", tenant="t")).allowed
        clock.now += 25 * HOUR
        assert (await guard.admit(model="m", tenant="t")).allowed


class TestModels:
    """Layer 4: x = counted + Σ max(0, own − counted_gate) + held + reserve, admitted while x < ceiling."""

    async def test_a_model_stops_before_its_limit(self, url: str, guard_on: Make, tell: Tell) -> None:
        """Usage and reserve must stay below the limit; reaching it is refused."""
        tell(counted=10_900, used=900, ceiling=11_000, limit=1_000)
        guard = guard_on(url, engine=ENGINE)
        refused = await guard.admit(model="m", estimate=100)
        assert refusal(refused) == (Do.REJECT, Layer.MODEL, "model-limit")
        assert refused.reason == "m has reached its limit (900+100/1,000)"
        admission = await guard.admit(model="m", estimate=99)
        assert (admission.allowed, admission.remaining) == (True, 1)

    async def test_what_the_engine_does_not_know_yet_counts(
        self, url: str, guard_on: Make, tell: Tell, redis: Redis
    ) -> None:
        """Settled tokens bind at once; when the engine has counted them they are not counted twice."""
        tell(counted=0, ceiling=1_000, counted_gate={})
        guard = guard_on(url, engine=ENGINE)
        await guard.settle(await guard.admit(model="m", estimate=10), 600)
        assert not (await guard.admit(model="m", estimate=400)).allowed
        assert (await guard.admit(model="m", estimate=399)).remaining == 1
        assert redis.get(KEYS.own("model:m", "c1", "2026-08-13")) == "600"
        tell(counted=600, ceiling=1_000, counted_gate={"2026-08-13": 600})
        assert (await guard.admit(model="m", estimate=100)).allowed is False  # 399 are still under way
        tell(counted=600, ceiling=2_000, counted_gate={"2026-08-13": 600})
        assert (await guard.admit(model="m", estimate=100)).remaining == 2_000 - 600 - 399 - 100

    async def test_yesterdays_calls_may_be_unknown_too(
        self, url: str, guard_on: Make, tell: Tell, clock: Clock
    ) -> None:
        """Tokens settled before midnight that the engine has not counted yet bind after it."""
        tell(counted=0, ceiling=1_000, counted_gate={})
        guard = guard_on(url, engine=ENGINE)
        await guard.settle(await guard.admit(model="m", estimate=10), 600)
        clock.now += 13 * HOUR
        tell(counted=0, ceiling=1_000, counted_gate={"2026-08-14": 0}, until="2026-08-15T00:00:00+08:00")
        assert (await guard.admit(model="m", estimate=100)).remaining == 300

    async def test_own_counts_stand_in_the_day_the_call_ended(
        self, url: str, guard_on: Make, tell: Tell, clock: Clock, redis: Redis
    ) -> None:
        """The event of a call says when it ended, and the engine counts it in that day: so does the gate."""
        tell(counted=0, ceiling=1_000, until=None)
        guard = guard_on(url, engine=ENGINE)
        clock.now += 12 * HOUR - 1
        tell(counted=0, ceiling=1_000, until=None)
        admission = await guard.admit(model="m", estimate=10)
        clock.now += 1
        settlement = await guard.settle(admission, 600)
        assert guard.core.to_text(settlement.at).startswith("2026-08-14T00:00:00")
        assert redis.get(KEYS.own("model:m", "c1", "2026-08-14")) == "600"
        assert redis.get(KEYS.own("model:m", "c1", "2026-08-13")) is None

    async def test_lost_counters_come_back_from_the_engine(
        self, url: str, guard_on: Make, tell: Tell, redis: Redis
    ) -> None:
        """Redis is emptied: when the engine has spoken again, what binds is never less than what it knows."""
        guard = guard_on(url, engine=ENGINE)
        tell(counted=0, ceiling=1_000)
        await guard.settle(await guard.admit(model="m", estimate=10), 600)
        redis.flushall()
        assert refusal(await guard.admit(model="m", estimate=1)) == (Do.REJECT, Layer.MODEL, "no-decision")
        tell(counted=600, ceiling=1_000, counted_gate={"2026-08-13": 600})
        assert (await guard.admit(model="m", estimate=1)).remaining == 399
        await guard.settle(await guard.admit(model="m", estimate=1), 50)
        assert (await guard.admit(model="m", estimate=1)).remaining == 1_000 - 600 - 50 - 1 - 1

    async def test_a_new_counter_is_learned(self, url: str, guard_on: Make, tell: Tell) -> None:
        """When the engine's counter starts anew, own counts of the old one no longer bind."""
        guard = guard_on(url, engine=ENGINE)
        tell(counted=0, ceiling=1_000)
        await guard.settle(await guard.admit(model="m", estimate=10), 600)
        tell(counted=0, ceiling=1_000, counter="c2")
        assert (await guard.admit(model="m", estimate=1)).remaining == 999

    @pytest.mark.parametrize(
        ("told", "unknown", "allowed"),
        [("block", Falls.OPEN, False), ("unknown", Falls.CLOSED, False), ("unknown", Falls.OPEN, True)],
    )
    async def test_the_engines_actions(
        self, url: str, guard_on: Make, tell: Tell, told: str, unknown: Falls, allowed: bool
    ) -> None:
        """A block refuses; what is unknown falls the way the operator chose."""
        tell(action=told, rule="why", limit=5, used=5)
        admission = await guard_on(url, engine=Engine(unknown=unknown)).admit(model="m")
        assert admission.allowed is allowed
        assert admission.rule == ("" if allowed else "why")

    async def test_a_silent_engine(self, url: str, guard_on: Make, tell: Tell, clock: Clock) -> None:
        """Without a heartbeat limits are kept with live counters, with a warning; after the grace the gate closes."""
        tell(counted=0, ceiling=1_000, until=None)
        guard = guard_on(url, engine=ENGINE)
        assert (await guard.admit(model="m", estimate=1)).warnings == ()
        clock.now += 60_000
        warned = await guard.admit(model="m", estimate=1)
        assert (warned.allowed, warned.warnings) == (True, ("engine-silent",))
        assert not (await guard.admit(model="m", estimate=1_000)).allowed
        clock.now += ENGINE.grace
        assert refusal(await guard.admit(model="m", estimate=1)) == (Do.REJECT, Layer.MODEL, "engine-silent")
        opened = guard_on(url, engine=Engine(silent=Falls.OPEN))
        assert (await opened.admit(model="m", estimate=1)).allowed
        assert not (await opened.admit(model="m", estimate=1_000)).allowed

    async def test_names_of_one_model_share_its_limit(self, url: str, guard_on: Make, tell: Tell) -> None:
        """Provider prefixes and endpoint ids are spellings of one canonical model."""
        tell(counted=0, ceiling=100)
        guard = guard_on(url, engine=ENGINE, aliases={"volcengine/m-260731": "m"})
        assert (await guard.admit(model="volcengine/m-260731", estimate=60)).allowed
        assert not (await guard.admit(model="m", estimate=60)).allowed


class TestSpend:
    """Layer 4, the money of a day."""

    async def test_money_is_reserved_and_settled_exactly(self, url: str, guard_on: Make, redis: Redis) -> None:
        """The dearer price is reserved; what was used is settled by its parts, to the nano-unit."""
        spend = Spend(daily=to_nano("0.01"), prices=PRICES)
        guard = guard_on(url, spend=spend)
        admission = await guard.admit(model="m", estimate=5_000)
        assert not (await guard.admit(model="m", estimate=1)).allowed
        settlement = await guard.settle(admission, Tokens(1_500, prompt=1_200, completion=300, cached=1_000))
        assert settlement.money == 200 * 1_000 + 1_000 * 200 + 300 * 2_000
        assert redis.get(KEYS.budget("global", "2026-08-13")) == str(settlement.money)

    async def test_a_day_may_cost_exactly_its_limit(self, url: str, guard_on: Make) -> None:
        """Spending exactly the limit is within it; a nano-unit more is not."""
        guard = guard_on(url, spend=Spend(daily=2_000 * 500, prices=PRICES))
        await guard.settle(await guard.admit(model="m", estimate=400), 400)
        assert (await guard.admit(model="m", estimate=100)).allowed
        refused = await guard.admit(model="m", estimate=1)
        assert refusal(refused) == (Do.REJECT, Layer.SPEND, "daily-spend")

    async def test_a_model_without_a_price_costs_the_assumed_one(self, url: str, guard_on: Make) -> None:
        """An unknown price is never zero."""
        guard = guard_on(url, spend=Spend(daily=to_nano("500"), assumed=Price.of(20, 60)))
        settlement = await guard.settle(await guard.admit(model="new", estimate=10), 100_000)
        assert settlement.money == to_nano("6")

    async def test_prices_and_spend_of_the_engine(self, url: str, guard_on: Make, tell: Tell) -> None:
        """Prices come with the model's decision, the limit with the global one; what is under way is reserved."""
        tell("global", counted=to_nano("499.99"), ceiling=to_nano("500"), wall="spend")
        tell("model:m", counted=0, ceiling=10**9, prices={"input": to_nano(1), "output": to_nano(2)})
        guard = guard_on(url, engine=ENGINE)
        assert (await guard.admit(model="m", estimate=5_000)).allowed
        assert refusal(await guard.admit(model="m", estimate=1)) == (Do.REJECT, Layer.SPEND, "daily-spend")

    async def test_free_tokens_cost_nothing(self, url: str, guard_on: Make, tell: Tell) -> None:
        """With basis `charged` only tokens beyond the free pool cost money."""
        tell("global", counted=0, ceiling=to_nano("1"), wall="spend")
        prices = {"input": to_nano(1_000), "output": to_nano(1_000)}
        tell("model:m", counted=0, used=0, ceiling=10**9, pool_low=10_000, prices=prices, basis="charged")
        guard = guard_on(url, engine=ENGINE)
        free = await guard.admit(model="m", estimate=10_000)
        assert (free.allowed, free.terms.money, free.terms.free) == (True, 0, 10_000)
        assert (await guard.settle(free, 10_500)).money == to_nano("0.5")
        assert not (await guard.admit(model="m", estimate=600)).allowed


class TestTogether:
    """What holds for all layers."""

    async def test_a_refused_call_consumes_nothing(self, url: str, guard_on: Make, tell: Tell, redis: Redis) -> None:
        """Refused by the last layer: no rate, no reservation, no counter has moved in any layer before it."""
        tell(counted=1_000, ceiling=1_000)
        guard = guard_on(url, engine=ENGINE, per_ip=Rate(10), per_user=Rate(10), default=Budget(daily_tokens=10_000))
        before = {key: redis.dump(key) for key in redis.scan_iter()}
        assert not (await guard.admit(model="m", tenant="t", user="u", ip="10.0.0.1", estimate=50)).allowed
        after = {key: redis.dump(key) for key in redis.scan_iter()}
        assert {key for key in after.keys() | before.keys() if after.get(key) != before.get(key)} <= {
            "blastdoor:gate:engine-seen"
        }

    async def test_a_gate_that_observes_lets_pass(self, url: str, guard_on: Make) -> None:
        """Mode `observe`: what would have been refused passes, and says so; its tokens are counted."""
        guard = guard_on(url, mode=Mode.OBSERVE, default=Budget(daily_tokens=10))
        admission = await guard.admit(model="m", tenant="t", estimate=11)
        assert (admission.allowed, admission.observed, admission.rule) == (True, True, "daily-budget")
        assert (await guard.settle(admission, 11)).used_today == 11

    @pytest.mark.parametrize("bad", [{"daily_tokens": -1}, {"monthly_tokens": -5}])
    def test_a_negative_limit_is_a_mistake(self, bad: dict[str, int]) -> None:
        """No limit is None; a negative one is refused when it is written."""
        with pytest.raises(ValueError, match="cannot be meant"):
            Budget(**bad)

    def test_no_limit_is_no_limit(self) -> None:
        """A budget that says nothing limits nothing."""
        assert Gate().budget("anybody") == Budget(daily_tokens=None, monthly_tokens=None)
