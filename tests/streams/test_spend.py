"""The day's money on its way: from a model's judge over facts to the judge of everything, to Redis and the metrics."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest
from blastdoor_gateway.contract import Action, Decision
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest

from rules.facts import GLOBAL, Charge, Heard, Partial, Sums, Watermark
from rules.moment import MINUTE, SECOND
from rules.policy import Policy, Price, Spend
from rules.prices import NANO
from rules.records import Control, ControlAction
from streams.judge import JudgeStep
from streams.metrics import Metrics
from streams.policy_file import default_rulebook
from tests.streams.partition import Partition
from tests.streams.test_judge import START, TOPICS, Desk

DAY = "2026-08-13"
PRICE = Price(input=Decimal(1_000), output=Decimal(1_000))  # 0.001 a token
POLICY = Policy(spend=Spend(daily=Decimal(500), basis="list"), prices={"m": (PRICE,)})


class Loop:
    """One partition of facts that holds the models and everything: what its judge tells comes back to it."""

    def __init__(self, *, event_clock: bool = False, policy: Policy = POLICY) -> None:
        self.desk = Desk()
        self.policy, self.event_clock = policy, event_clock
        self.now = START
        self.metrics = Metrics()
        self.partition = Partition(self.make)
        self.seen = 0
        self.offset = 0

    def make(self) -> JudgeStep:
        return JudgeStep(
            TOPICS,
            1,
            self.policy,
            default_rulebook(self.policy),
            self.desk,  # type: ignore[arg-type]
            self.metrics,
            event_clock=self.event_clock,
            clock=lambda: self.now,
        )

    def use(self, total: int) -> None:
        """The model's tokens of the day by now, and the watermarks that vouch for them."""
        self.offset += 1
        at = self.now
        facts = [Partial("model:m", 0, DAY, 0, self.offset, Sums(tokens=total, prompt=total))]
        marks = [Watermark(source, 0, 0, self.offset, at, START) for source in ("usage", "balances", "controls")]
        for fact in (*facts, *marks):
            self.partition.append(msgspec.json.encode(fact), at)

    def order(self, action: ControlAction, name: str) -> None:
        control = Control(id=name, at=self.now, action=action, scope=GLOBAL, by="ann", why="drill")
        self.partition.append(msgspec.json.encode(Heard(GLOBAL, control, "controls/0/1")), self.now)

    def turn(self, *, dies: bool = False) -> None:
        """Handle what is there, flush, and let what was told come back."""
        self.partition.handle(len(self.partition.log))
        self.partition.flush(self.now, dies_after_outputs=dies)
        for output in self.partition.sent[self.seen :]:
            if output.topic == TOPICS.facts:
                self.partition.append(output.value or b"", self.now)
        self.seen = len(self.partition.sent)

    def settle(self) -> Decision:
        """Until nothing is told any more; the decision about everything."""
        for _ in range(6):
            self.now += SECOND
            self.turn()
        return next(decision for decision in reversed(self.desk.offered) if decision.scope == GLOBAL)

    def charges(self) -> list[Charge]:
        sent = [output.value or b"" for output in self.partition.sent if output.topic == TOPICS.facts]
        return [msgspec.json.decode(value, type=Charge) for value in sent]


@pytest.mark.parametrize("event_clock", [False, True])
def test_usage_closes_the_switch(event_clock: bool) -> None:
    """Tokens become money, money is told under the version of its judge, and the sum decides; with a recording's clock
    as well, though the money comes after its tick."""
    loop = Loop(event_clock=event_clock)
    loop.use(499_999)
    assert loop.settle().action is Action.WARN
    loop.now += MINUTE
    loop.use(500_000)
    decision = loop.settle()
    assert (decision.action, decision.used, decision.limit) == (Action.KILL, 500 * NANO, 500 * NANO)
    assert all(charge.version[0] > 0 for charge in loop.charges())
    if not event_clock:
        assert decision.until == "2026-08-14T00:00:00.000+08:00"


def test_gates_know_the_limit_before_anything_costs() -> None:
    """The decision about everything is there as soon as the worker is."""
    loop = Loop()
    decision = loop.settle()
    assert (decision.action, decision.used, decision.ceiling) == (Action.ALLOW, 0, 500 * NANO)


def test_money_is_told_a_few_times_a_second() -> None:
    """However often usage comes, others hear of it at most every 200 ms, and then of the newest sum."""
    loop = Loop()
    for number in range(1, 101):
        loop.now = START + 10 * number
        loop.use(number)
        loop.turn()
    loop.settle()
    told = loop.charges()
    assert len(told) <= 7
    assert told[-1].cost_list == 100 * 1_000_000


STEPS = st.lists(st.sampled_from(["use", "turn", "die", "restart", "resume"]), max_size=25)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_crashes_anywhere_change_no_sum(steps: list[str]) -> None:
    """Whatever dies, the sum is that of all tokens, and the switch closes and opens as it would have without."""
    loop, total = Loop(), 0
    for number, step in enumerate(steps):
        loop.now += SECOND
        if step == "use":
            total += 100_000
            loop.use(total)
        elif step == "resume":
            loop.order(ControlAction.RESUME, f"r{number}")
        elif step == "restart":
            loop.partition.start()
        else:
            loop.turn(dies=step == "die")
    found = loop.settle()
    assert found.used == total * 1_000_000
    assert found.limit is not None
    assert (found.action is Action.KILL) == (found.used >= found.limit)


def test_an_order_is_in_the_history() -> None:
    """With who, when and why, under `because`."""
    loop = Loop()
    loop.order(ControlAction.KILL, "k1")
    assert loop.settle().action is Action.KILL
    entries = [Decision.from_json(each.value or b"") for each in loop.partition.sent if each.topic == TOPICS.decisions]
    (order,) = [order for entry in entries for order in entry.because.get("orders", ())]
    assert (order["id"], order["by"], order["why"], order["origin"]) == ("k1", "ann", "drill", "controls/0/1")


def test_metrics_are_in_the_currency() -> None:
    """What the day cost, its limit, the bucket of assumed prices and the switch; gone with the partition."""
    loop = Loop(policy=Policy(spend=Spend(daily=Decimal(500), basis="list", unknown_price=PRICE)))
    loop.use(250_000)
    loop.settle()
    loop.partition.step.show()
    shown = generate_latest(loop.metrics.registry).decode()
    for line in (
        'blastdoor_spend_money{scope="global"} 250.0',
        'blastdoor_spend_limit_money{scope="global"} 500.0',
        'blastdoor_spend_assumed_money{scope="global"} 250.0',
        'blastdoor_closed{scope="global"} 0.0',
        'blastdoor_list_money{model="m"} 250.0',
    ):
        assert line in shown
    loop.partition.step.revoked(0)
    assert 'scope="global"' not in generate_latest(loop.metrics.registry).decode()
