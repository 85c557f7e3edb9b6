"""Gates of every formula on the same days: what each lets into the charged zone, and what each leaves unused."""

from __future__ import annotations

from random import Random

import pytest

from rules.moment import DAY, MINUTE
from rules.policy import ModelTerms
from rules.simulation.kinds import INSIDE, KINDS, OUTSIDE
from rules.simulation.loop import KNOWING, KNOWING_WITH_BUFFER, TOLD, Outcome, compare, play
from rules.simulation.script import START, draw

BARE, DEFAULT = ModelTerms(small_buffer=0), ModelTerms()
DAYS = 4


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, str], Outcome]:
    """Of every kind inside the assumptions, by (kind, formula)."""
    found = {}
    for kind in INSIDE:
        for outcome in compare(kind, DAYS, Random(f"test-{kind.name}"), ("interval", "v5", "v6"), BARE):
            found[kind.name, outcome.formula] = outcome
    return found


def total(outcomes: dict[tuple[str, str], Outcome], formula: str, field: str) -> int:
    return sum(getattr(outcome, field) for (_, name), outcome in outcomes.items() if name == formula)


def test_the_interval_charges_nothing_even_without_a_buffer(outcomes) -> None:
    """Inside the assumptions: not one token, and the true pool between the ends at every reading."""
    assert total(outcomes, "interval", "charged") == 0
    assert total(outcomes, "interval", "outside") == 0


def test_no_limit_is_ever_above_the_true_pool(outcomes) -> None:
    """At every single call, also between two readings; that of v6 is, thousands of times."""
    assert total(outcomes, "interval", "above") == 0
    assert total(outcomes, "v6", "above") > 1_000


def test_the_books_hold_the_truth_at_every_reading(outcomes) -> None:
    """What the day really began with and what is really left are in the ledger, and each opening meets the evening."""
    assert total(outcomes, "interval", "booked") > 0.9 * total(outcomes, "interval", "readings")
    assert total(outcomes, "interval", "misbooked") == 0


def test_v6_charges_on_the_same_days(outcomes) -> None:
    """Its limit is too high by all that is not settled."""
    assert total(outcomes, "v6", "charged") > 10_000


def test_it_costs_almost_no_free_tokens(outcomes) -> None:
    """At least 99.8 % of what a gate would use that sees the provider's books."""
    assert total(outcomes, "interval", "used") >= 0.998 * total(outcomes, KNOWING, "used")
    assert total(outcomes, "v5", "used") < 0.9 * total(outcomes, KNOWING, "used")


@pytest.mark.parametrize("kind", INSIDE, ids=lambda kind: kind.name)
def test_in_every_kind_it_uses_what_anybody_could_know_of(outcomes, kind) -> None:
    """At least 99.8 % of what a gate uses that knows what is left of every package, once a reading has shown it."""
    assert outcomes[kind.name, "interval"].used >= 0.998 * outcomes[kind.name, TOLD].used


@pytest.mark.parametrize("kind", INSIDE, ids=lambda kind: kind.name)
def test_the_low_end_is_close_in_every_kind(outcomes, kind) -> None:
    """Its mean distance to the true pool is under one per cent of what the model holds."""
    outcome = outcomes[kind.name, "interval"]
    assert outcome.slack < 0.01 * outcome.readings * kind.pool * (1 + kind.extra * len(kind.ends))


@pytest.mark.parametrize("kind", INSIDE, ids=lambda kind: kind.name)
def test_the_low_end_is_close_to_the_pool_of_the_day(outcomes, kind) -> None:
    """Against what the day really had by then it is under one per cent as well, but for days that begin with nothing
    and use everything in an afternoon: the slack is what is used in D less the lag."""
    outcome = outcomes[kind.name, "interval"]
    assert outcome.slack < (0.013 if kind.name == "late" else 0.01) * outcome.pools


def test_the_default_buffer_costs_itself_and_little_more() -> None:
    """At least 98 % of what an all-knowing gate uses that keeps the same buffer."""
    for kind in (KINDS["exhausted"], KINDS["bursty"]):
        script = draw(kind, DAYS, Random(f"buffer-{kind.name}"))
        ours, knowing = (play(script, name, DEFAULT) for name in ("interval", KNOWING_WITH_BUFFER))
        assert ours.charged == 0
        assert ours.used >= 0.98 * knowing.used


def test_the_all_knowing_gate_is_never_charged_and_never_wrong(outcomes) -> None:
    """It is the measure of the others. Told of a package, the other one is not either."""
    assert total(outcomes, KNOWING, "charged") == total(outcomes, TOLD, "charged") == 0
    assert total(outcomes, KNOWING, "false_blocks") == 0
    assert total(outcomes, TOLD, "used") < total(outcomes, KNOWING, "used")


def test_the_same_seed_makes_the_same_days() -> None:
    """And another seed makes others."""
    kind = KINDS["steady"]
    first, again, other = (draw(kind, 1, Random(seed)) for seed in ("a", "a", "b"))
    assert first == again != other


@pytest.fixture(scope="module")
def outside() -> dict[str, Outcome]:
    """Of every kind outside the assumptions, by name."""
    return {kind.name: play(draw(kind, DAYS, Random(f"outside-{kind.name}")), "interval", DEFAULT) for kind in OUTSIDE}


@pytest.mark.parametrize("name", ["stall-3h", "lag-45", "skew", "skew-behind", "high-console", "low-console"])
def test_a_lag_beyond_d_charges_nothing(outside, name: str) -> None:
    """Neither a stall nor a long lag, clocks that differ or an operator's wrong figure."""
    assert outside[name].charged == 0


@pytest.mark.parametrize("name", [kind.name for kind in OUTSIDE])
def test_outside_the_assumptions_the_loss_is_bounded(outside, name: str) -> None:
    """At most one per cent of the free tokens used."""
    assert outside[name].charged <= 0.01 * outside[name].used


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stall-3h", "lag_bound_broken"),
        ("lag-45", "lag_bound_broken"),
        ("unlisted-end", "unexplained"),
        ("leak-5", "unexplained"),
        ("leak-20", "unexplained"),
        ("lump", "unexplained"),
        ("skew", "clocks_apart"),
        ("skew-behind", "clocks_apart"),
        ("high-console", "calibration_conflict"),
        ("low-console", "calibration_conflict"),
        ("forced-console", "unexplained"),
    ],
)
def test_outside_the_assumptions_it_is_told(outside, name: str, kind: str) -> None:
    """With the kind of alert that names the cause."""
    assert kind in {str(notice.kind) for notice in outside[name].notices}


@pytest.mark.parametrize(("name", "day"), [("unlisted-end", 0.5), ("lump", 1.5), ("forced-console", 1.7)])
def test_a_sudden_loss_is_noticed_within_d_and_one_poll(outside, name: str, day: float) -> None:
    """Half an hour until it is settled, a quarter until it is read; a figure forced too high looks like one."""
    happened = START + day * DAY
    told = min(n.at for n in outside[name].notices if n.kind == "unexplained" and n.at >= happened)
    assert told - happened <= 30 * MINUTE + KINDS[name].poll[1]


@pytest.mark.parametrize(("name", "share"), [("leak-5", 0.05), ("leak-20", 0.20)])
def test_a_steady_leak_is_learned(outside, name: str, share: float) -> None:
    """About the share that passes no meter."""
    last = [notice for notice in outside[name].notices if notice.kind == "unexplained"]
    assert len(last) >= 2
    assert 0.4 * share <= outside[name].share <= 2.5 * share
