"""The day's money and the kill switch: closed at the limit and not before, until the next day or a resume."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.facts import GLOBAL, Charge, Heard
from rules.judge import Judge
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.outcome import Outcome
from rules.policy import Policy, Spend
from rules.prices import NANO, Nano
from rules.records import Control, ControlAction
from rules.ruling import Ruling
from streams.policy_file import default_rulebook

TODAY, TOMORROW = "2026-08-13", "2026-08-14"
T0 = Calendar().start(TODAY)
NOON = T0 + 12 * HOUR
DAILY = 500 * NANO


class Money:
    """The scope `global` before a judge; what was stored survives a restart."""

    def __init__(self, basis: str = "list", daily: str = "500") -> None:
        self.policy = Policy(spend=Spend(daily=Decimal(daily), basis=basis))
        self.rows: dict[str, Any] = {}
        self.told = 0
        self.outcomes: list[Outcome] = []
        self.judge = self.start()

    def start(self, daily: str | None = None) -> Judge:
        """A new owner with what was stored."""
        if daily is not None:
            self.policy = Policy(spend=Spend(daily=Decimal(daily), basis="list"))
        self.judge = Judge(self.policy, default_rulebook(self.policy), usage_partitions=1)
        self.judge.restore(msgspec.json.decode(msgspec.json.encode(self.rows)))
        return self.judge

    def cost(self, money: Nano, model: str = "m", day: str = TODAY, **fields: Any) -> None:
        """A model's day costs so much by now."""
        self.told += 1
        self.judge.apply(
            Charge(model=model, day=day, version=(1, self.told), cost_list=money, cost_charged=money, **fields)
        )

    def order(self, action: str, at: Millis = NOON, *, name: str = "", until: Millis | None = None) -> None:
        self.told += 1
        control = Control(
            id=name or f"c{self.told}",
            at=at,
            action=ControlAction(action),
            scope=GLOBAL,
            by="ann",
            why="drill",
            until=until,
        )
        self.judge.apply(Heard(GLOBAL, control, f"controls/0/{self.told}"))

    def ruling(self, now: Millis = NOON) -> Ruling:
        self.judge.attend(GLOBAL)
        self.outcomes = self.judge.rule(now)
        for key, row in self.judge.take_rows().items():
            self.rows.pop(key, None) if row is None else self.rows.update({key: row})
        found = self.judge.ruling(GLOBAL)
        assert found is not None
        return found

    def action(self, now: Millis = NOON) -> str:
        return self.ruling(now).action


@pytest.mark.parametrize("basis", ["list", "charged"])
def test_closed_at_the_limit_and_not_before(basis: str) -> None:
    """499.999999999 is open, 500.00 is closed, and until the day ends."""
    money = Money(basis)
    money.cost(DAILY - 1)
    assert money.action() == "warn"
    money.cost(DAILY)
    found = money.ruling()
    assert (found.action, found.rule, found.until) == ("kill", "global-spend-reached", T0 + DAY)
    assert (found.used, found.limit, found.wall, found.unit) == (DAILY, DAILY, "spend", "CNY")
    assert (
        found.reason == "the day has cost 500.00 CNY of 500.00 CNY: everything is closed until the next day or a resume"
    )


parts = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, DAILY // 2)), max_size=12)


@given(parts, st.randoms(use_true_random=False), st.lists(st.booleans(), min_size=24, max_size=24))
def test_any_order_and_batching(steps: list[tuple[str, int]], chance: Any, rules: list[bool]) -> None:
    """Closed if and only if the sum reaches the limit, whatever comes first, twice, or between two rulings."""
    charges, totals = [], dict.fromkeys("abc", 0)
    for number, (model, amount) in enumerate(steps, 1):
        totals[model] += amount
        charges.append(Charge(model=model, day=TODAY, version=(1, number), cost_list=totals[model]))
    shuffled = charges + charges[:3]
    chance.shuffle(shuffled)
    money = Money()
    for charge, rule in zip(shuffled, rules, strict=False):
        money.judge.apply(charge)
        if rule:
            money.ruling()
    found = money.ruling()
    assert found.used == sum(totals.values())
    assert (found.action == "kill") == (sum(totals.values()) >= DAILY)


def test_a_former_owner_does_not_win() -> None:
    """A model's judge that was replaced says less with an older epoch: nothing changes."""
    money = Money()
    money.judge.apply(Charge(model="m", day=TODAY, version=(2, 1), cost_list=DAILY))
    money.judge.apply(Charge(model="m", day=TODAY, version=(1, 9), cost_list=0))
    assert money.ruling().used == DAILY


def test_the_next_day_opens() -> None:
    """At midnight the day's money begins anew; the counter goes on."""
    money = Money()
    money.cost(DAILY)
    assert money.action(T0 + DAY - 1) == "kill"
    found = money.ruling(T0 + DAY)
    assert (found.action, found.used, found.base, found.limit) == ("allow", 0, DAILY, DAILY)
    money.cost(1, day=TOMORROW)
    assert money.ruling(T0 + DAY).used == 1


def test_an_estimate_that_falls_opens_nothing() -> None:
    """Closed until the next day or a resume, also if a reading brings the estimate down."""
    money = Money("charged")
    money.cost(DAILY)
    money.action()
    money.cost(DAILY // 2)
    assert (money.ruling().used, money.action()) == (DAILY // 2, "kill")


def test_a_resume_holds_against_the_same_sum() -> None:
    """It grants another `daily` on top of what the day cost by then; there the switch closes again."""
    money = Money()
    money.cost(DAILY + 7)
    money.action()
    money.order("resume")
    found = money.ruling()
    assert (found.action, found.limit, found.used) == ("allow", 2 * DAILY + 7, DAILY + 7)
    money.cost(2 * DAILY + 6)
    assert money.action() == "warn"
    money.cost(2 * DAILY + 7)
    assert money.action() == "kill"
    assert money.ruling(T0 + DAY).limit == DAILY


def test_a_resume_before_the_limit_grants_nothing() -> None:
    """Only a closed switch is opened: nobody raises the limit by resuming ahead."""
    money = Money()
    money.order("resume")
    money.cost(DAILY)
    assert (money.ruling().limit, money.action()) == (DAILY, "kill")


def test_a_resume_counts_once() -> None:
    """The same control again, from another offset, after the switch has closed a second time: nothing."""
    money = Money()
    money.cost(DAILY)
    money.order("resume", name="r")
    money.cost(2 * DAILY)
    money.order("resume", name="r")
    assert (money.ruling().limit, money.action()) == (2 * DAILY, "kill")


def test_a_restart_changes_nothing() -> None:
    """Trip, resume and kill stand in the rows; a trip does not need the estimate that made it."""
    money = Money()
    money.cost(DAILY)
    money.ruling()
    money.cost(DAILY - 9)
    money.ruling()
    money.start()
    assert money.action() == "kill"
    money.order("resume")
    money.ruling()
    money.start()
    assert (money.action(), money.ruling().limit) == ("allow", 2 * DAILY)


def test_a_higher_limit_in_the_policy_opens() -> None:
    """Who raises `daily` above what the day cost has decided that it may cost so much."""
    money = Money()
    money.cost(DAILY)
    money.ruling()
    money.start("800")
    assert (money.action(), money.ruling().limit) == ("allow", 800 * NANO)


def test_a_kill_is_an_operators_until_it_ends() -> None:
    """By whom and why stands in the reason; without `until` only a resume ends it, and no day change does."""
    money = Money()
    money.order("kill", NOON)
    found = money.ruling()
    assert (found.action, found.reason, found.until) == ("kill", "closed by ann: drill", None)
    assert money.action(NOON + 3 * DAY) == "kill"
    money.order("resume", NOON + MINUTE)
    assert money.action(NOON + 3 * DAY) == "allow"
    money.order("kill", NOON + 2 * MINUTE, until=NOON + HOUR)
    assert money.ruling(NOON + HOUR - 1).until == NOON + HOUR
    assert money.action(NOON + HOUR) == "allow"


@given(st.permutations([("kill", 1), ("resume", 2), ("kill", 3), ("resume", 4)]), st.booleans())
def test_orders_count_by_their_own_time(orders: list[tuple[str, int]], closed: bool) -> None:
    """The latest wins, in whatever order they come."""
    money = Money()
    for action, at in [*orders, ("kill" if closed else "resume", 5)]:
        money.order(action, NOON + at)
        money.order(action, NOON + at, name=f"again{at}")
    assert (money.action() == "kill") is closed


def test_every_order_is_history() -> None:
    """One that changes nothing is kept as well, with who gave it, when and why."""
    money = Money()
    money.ruling()
    money.order("resume", name="r1")
    money.ruling()
    (outcome,) = money.outcomes
    told = msgspec.to_builtins(money.judge.grounds(outcome))
    assert outcome.history
    assert [(each["id"], each["by"], each["why"], each["at"]) for each in told["orders"]] == [
        ("r1", "ann", "drill", NOON)
    ]


def test_a_trip_outlasts_a_kill_that_ends_sooner() -> None:
    """Both hold: the decision ends with the later of them."""
    money = Money()
    money.cost(DAILY)
    money.order("kill", until=NOON + HOUR)
    assert money.ruling().until == T0 + DAY


def test_without_a_limit_nothing_closes() -> None:
    """Money is counted and shown; nobody gave a limit."""
    money = Money()
    money.policy = Policy(prices={})
    money.start()
    money.cost(10**6 * NANO)
    assert (money.ruling().action, money.ruling().limit, money.ruling().used) == ("allow", None, 10**6 * NANO)


def test_what_guards_told_is_apart() -> None:
    """Gates add what they counted on top of the engine's word; of a model without a guard that word covers nothing."""
    money = Money()
    money.cost(100, "a", apart_list=30)
    money.cost(50, "b", apart_list=50)
    assert money.ruling().guarded == {TODAY: 70}


def test_thresholds_are_told_once_a_round() -> None:
    """80 % and the kill each once, in money; a resume opens a round."""
    money, told = Money(), []
    for number, share in enumerate((79, 80, 81, 99, 100, 101)):
        money.cost(DAILY * share // 100)
        money.ruling(NOON + number * MINUTE)
        told += [alert for outcome in money.outcomes for alert in outcome.alerts]
    assert [(alert.threshold, alert.used, alert.unit, alert.details) for alert in told] == [
        (0.8, 400 * NANO, "CNY", {"wall": "spend"}),
        (1.0, DAILY, "CNY", {"wall": "spend"}),
    ]
    money.order("resume", NOON + HOUR)
    money.ruling(NOON + HOUR)
    money.cost(2 * DAILY)
    money.ruling(NOON + 2 * HOUR)
    assert [(alert.threshold, alert.grant) for outcome in money.outcomes for alert in outcome.alerts] == [(0.8, 1)]


def test_closed_days_are_folded() -> None:
    """Old charges leave, what they cost stays in the counter, and a late word about them changes nothing."""
    money = Money()
    money.cost(100)
    money.cost(7, day="2026-08-20")
    found = money.ruling(Calendar().start("2026-08-20"))
    assert (found.used, found.base) == (7, 100)
    assert f"{GLOBAL}|model:m|{TODAY}" not in money.rows
    money.cost(900)
    assert money.ruling(Calendar().start("2026-08-20")).base == 100


def test_a_policy_taken_over_binds_at_once() -> None:
    """A lower `daily` closes what it finds beyond it, a higher one opens, without a restart."""
    money = Money()
    money.cost(300 * NANO)
    money.ruling()
    for daily, action in (("200", "kill"), ("400", "allow"), ("300", "kill")):
        policy = Policy(spend=Spend(daily=Decimal(daily), basis="list"))
        money.judge.adopt(policy, default_rulebook(policy))
        assert money.action() == action


def test_a_tiny_limit_holds() -> None:
    """0.0001 a day is a limit like any other: the first call of 0.001 closes."""
    money = Money(daily="0.0001")
    money.cost(NANO // 1_000)
    assert (money.action(), money.ruling().reason[:28]) == ("kill", "the day has cost 0.001 CNY o")


def test_rows_of_an_older_version_lose_no_money() -> None:
    """What a row does not say yet is its default; the charges beside it are counted, and close."""
    money = Money()
    money.cost(DAILY)
    money.ruling()
    money.rows["book|global"] = {"born": T0}
    money.start()
    assert (money.action(), money.ruling().used, money.ruling().counter) == ("kill", DAILY, str(T0))


def test_who_only_observes_closes_nothing() -> None:
    """The decision says what it would be, and people hear of it."""
    money = Money()
    money.policy = money.policy.observing()
    money.start()
    money.cost(DAILY)
    found = money.ruling()
    assert (found.action, found.observed) == ("allow", True)
    assert found.reason.startswith("observed only, would be kill: the day has cost 500.00 CNY")
    assert [alert.threshold for outcome in money.outcomes for alert in outcome.alerts] == [0.8, 1.0]
