"""What a model's day costs: tokens beyond the free pool, as bounds, and their money on the way to the day's sum."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rules.alerts import Alert, Kind
from rules.calendar import Calendar
from rules.charges import Charged, charge, charged, with_more
from rules.curve import Curve
from rules.facts import GLOBAL, Charge, Sums
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.outcome import Outcome
from rules.policy import Policy, Price, Spend
from rules.pool_state import NO_POOL, Bounds, Metered
from rules.prices import NANO, Tariff
from tests.rules.story import Story

TODAY = "2026-08-13"
T0 = Calendar().start(TODAY)
PRICE = Price(input=Decimal(1_000), output=Decimal(1_000))  # 0.001 a token
TOKEN = NANO // 1_000
POLICY = Policy(spend=Spend(daily=Decimal(500)), prices={"m": (PRICE,)})


class MoneyStory(Story):
    """One model and what its judge tells the scope `global`, which is before the same judge here."""

    def __init__(self, policy: Policy = POLICY) -> None:
        self.version = 0
        self.alerts: list[Alert] = []
        super().__init__(T0 - DAY, policy)

    def rule(self, now: Millis) -> list[Outcome]:
        outcomes = super().rule(now)
        for fact in [fact for outcome in outcomes for fact in outcome.tells]:
            self.version += 1
            self.judge.apply(replace(fact, version=(1, self.version)))
        self.alerts += [alert for outcome in outcomes for alert in outcome.alerts]
        return outcomes + self.judge.rule(now)

    def global_action(self) -> str:
        found = self.judge.ruling(GLOBAL)
        return "" if found is None else found.action

    def spent(self) -> int:
        found = self.judge.ruling(GLOBAL)
        return 0 if found is None else found.used


def with_pool(policy: Policy = POLICY, tokens: int = 2_000_000) -> MoneyStory:
    """The pool is known from the first hour on: nothing was used before."""
    story = MoneyStory(policy)
    story.read(T0 + HOUR, tokens)
    story.rule(T0 + HOUR)
    return story


def test_free_tokens_never_close_the_switch() -> None:
    """With basis `charged` two million free tokens cost nothing, though the list price of them is 2,000."""
    story = with_pool()
    story.use(T0 + 2 * HOUR, 1_999_000)
    story.rule(T0 + 2 * HOUR)
    assert (story.spent(), story.global_action()) == (0, "allow")
    ruling = story.ruling(T0 + 2 * HOUR)
    assert ruling.money == {"charged_low": 0, "charged_high": 0, "list": 1_999_000 * TOKEN}


@given(st.lists(st.tuples(st.integers(0, 250_000), st.integers(0, 3)), min_size=1, max_size=8))
def test_no_course_of_free_tokens_costs(steps: list[tuple[int, int]]) -> None:
    """Whatever is used while tokens are left, and however far readings are behind within the bound: no money, open."""
    story, used = with_pool(), [0]
    for number, (tokens, behind) in enumerate(steps, 1):
        at = T0 + 2 * HOUR + number * 8 * MINUTE
        story.use(at - MINUTE, min(tokens, 1_990_000 - used[-1]))
        used.append(min(used[-1] + tokens, 1_990_000))
        story.rule(at - MINUTE)
        story.read(at, 2_000_000 - used[max(0, number - behind)])
        story.rule(at)
        assert (story.spent(), story.global_action()) == (0, "allow")


def test_every_token_counts_with_basis_list() -> None:
    """The same usage closes the switch where every token counts."""
    story = with_pool(Policy(spend=Spend(daily=Decimal(500), basis="list"), prices={"m": (PRICE,)}))
    story.use(T0 + 2 * HOUR, 500_000)
    story.rule(T0 + 2 * HOUR)
    assert (story.spent(), story.global_action()) == (500 * NANO, "kill")


def test_tokens_beyond_the_pool_cost_and_are_told() -> None:
    """The high estimate counts; people hear of tokens and money once, and again when it is certain."""
    story = with_pool(tokens=100_000)
    story.use(T0 + 2 * HOUR, 100_000 + 40_000)
    story.rule(T0 + 2 * HOUR)
    ruling = story.ruling(T0 + 2 * HOUR)
    beyond = ruling.bounds.charged_high
    assert beyond >= 40_000
    assert story.spent() == beyond * TOKEN == ruling.money["charged_high"]
    (told,) = [alert for alert in story.alerts if alert.kind is Kind.CHARGED]
    assert "tokens went beyond the free pool, for" in told.reason


def test_a_decision_carries_prices_and_basis() -> None:
    """Gates price a call as the engine does."""
    ruling = with_pool().ruling(T0 + HOUR)
    assert (ruling.prices["input"], ruling.basis) == (1_000 * NANO, "charged")


def test_a_model_without_a_price_is_told_and_counted() -> None:
    """It costs what is assumed, in a bucket of its own; the switch counts it."""
    spend = Spend(daily=Decimal(500), basis="list", unknown_price=PRICE)
    story = with_pool(Policy(spend=spend))
    story.use(T0 + 2 * HOUR, 600_000)
    story.rule(T0 + 2 * HOUR)
    found = story.judge.ruling(GLOBAL)
    assert found is not None
    assert (found.action, found.money) == ("kill", {"assumed": 600 * NANO})
    (told,) = [alert for alert in story.alerts if alert.kind is Kind.UNPRICED]
    assert told.scope == "model:m"
    assert told.reason.startswith("the policy has no price for m")


def test_nothing_is_told_without_prices() -> None:
    """Who counts no money hears of none."""
    story = with_pool(Policy())
    story.use(T0 + 2 * HOUR, 5_000_000)
    story.rule(T0 + 2 * HOUR)
    assert story.judge.ruling(GLOBAL) is None
    assert not [alert for alert in story.alerts if alert.kind in {Kind.CHARGED, Kind.UNPRICED}]


def metered(total: int) -> Metered:
    curve = Curve()
    curve.seed = total
    return Metered(curve=curve, complete_until=None, since=None, day=TODAY, day_start=T0, day_base=0)


def bounds(low: int | None, high: int = 0) -> Bounds:
    return Bounds(pool_low=low, pool_high=None, lag_bound=MINUTE, charged_high=high)


def test_nobody_vouches_for_tokens_of_an_unknown_pool() -> None:
    """What is used while no reading bounds the pool may be charged; the next reading says how much was."""
    known = charged(Charged(), bounds(100, 0), metered(60), 60)
    unknown = charged(known, bounds(None), metered(90), 90)
    assert (known.high, unknown.high) == (0, 30)
    assert charged(unknown, bounds(None), metered(95), 95).high == 35
    assert charged(unknown, bounds(100), metered(95), 95).high == 0
    assert charged(Charged(), NO_POOL, metered(7), 7).high == 7


def test_usage_since_the_last_look_takes_what_was_free() -> None:
    """Also late usage of yesterday; beyond that it costs, and where nothing is known to be free at once."""
    ended = charged(Charged(), bounds(100), metered(60), 60)
    assert [with_more(ended, used).high for used in (60, 100, 101)] == [0, 0, 1]
    unknown = charged(Charged(), bounds(None), metered(60), 60)
    assert with_more(unknown, 61).high == 61


numbers = st.integers(0, 10**7)


@given(numbers, numbers, numbers, numbers, numbers, numbers)
def test_bounds_of_money(prompt: int, output: int, cached: int, guarded: int, low: int, high: int) -> None:
    """0 ≤ low ≤ charged ≤ list, and what no guard told is a part of either."""
    cached, tokens = min(cached, prompt), prompt + output
    sums = Sums(tokens=tokens, prompt=prompt, completion=output, cached=cached, guarded=min(guarded, tokens))
    found = charge("m", TODAY, sums, Charged(low=low, high=high), Tariff(3 * NANO, NANO, 7 * NANO))
    assert 0 <= found.cost_low <= found.cost_charged <= found.cost_list
    assert found.charged_low <= found.charged_high <= tokens
    assert found.apart_charged <= found.cost_charged
    assert found.apart_list <= found.cost_list


def test_a_charge_is_told_when_it_changes() -> None:
    """The same number is no news; a new owner tells everything again."""
    story = with_pool()
    story.use(T0 + 2 * HOUR, 5)
    assert [type(fact) for outcome in story.rule(T0 + 2 * HOUR) for fact in outcome.tells] == [Charge]
    assert [fact for outcome in story.rule(T0 + 2 * HOUR + 1) for fact in outcome.tells] == []
    story.start()
    assert [fact.day for outcome in story.rule(T0 + 2 * HOUR + 2) for fact in outcome.tells] == [TODAY]


def test_usage_alone_costs_at_once() -> None:
    """A model whose pool nobody knows is looked at once a minute; its money does not wait for that."""
    story = MoneyStory()
    for number, tokens in enumerate((1_000, 2_000)):
        story.use(T0 + 2 * HOUR, tokens)
        outcomes = story.judge.rule(T0 + 2 * HOUR + number)
    (fact,) = [fact for outcome in outcomes for fact in outcome.tells]
    assert (fact.charged_high, fact.cost_charged) == (3_000, 3 * NANO)
