"""What limits were worth, proven by later readings, agrees with what really happened."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rules.evidence import residual
from rules.formulas import FORMULAS
from rules.hindsight import Hindsight, Seen, Tally
from rules.ledger import Amount
from rules.pool_state import Cause
from rules.records import Refusal
from tests.rules.hindsights import Looker, look, recorded, truth, without_a_gate

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"
INSIDE = ("exhausted", "out-of-order", "residual", "expiring-live", "cold-start")
AMOUNTS = ("charged", "refused", "unknown", "beyond", "unused")


def seen(at: int, total: int, **more: Any) -> Seen:
    """A ruling at a minute; the pool is between 1,000 and 1,100 tokens unless told otherwise."""
    fields = {
        "scope": "model:m", "day": "d1", "base": 0, "low": 1_000, "high": 1_100, "limits": {"f": 500}, "cap": 5_000,
        "buffer": 10, "since": 0, "reading_at": 0,
    }  # fmt: skip
    return Seen(at=at * 60_000, total=total, **fields | more)


def tally(*rulings: Seen | Refusal) -> Tally:
    return hindsight(*rulings).tallies["f"]


def hindsight(*rulings: Seen | Refusal) -> Hindsight:
    found = Hindsight("model:m", ["f"])
    for ruling in rulings:
        found.refuse(ruling) if isinstance(ruling, Refusal) else found.see(ruling)
    found.finish()
    return found


def test_free_tokens_that_the_limit_refuses_are_counted() -> None:
    """From the limit to what was used; the limit of 500 is below the pool."""
    found = tally(seen(0, 0), seen(5, 800))
    assert found.refused == Amount(300, 300)
    assert found.charged == Amount(0, 0)


def test_tokens_beyond_the_pool_that_the_limit_passes_are_charged() -> None:
    """From the pool, of which both ends are known, to the limit."""
    found = tally(seen(0, 0, limits={"f": 1_500}), seen(5, 2_000))
    assert found.charged == Amount(400, 500)
    assert found.beyond == Amount(400, 500)
    assert found.refused == Amount(0, 0)


def test_later_readings_prove_what_the_pool_was() -> None:
    """The first ruling knew little; what the last one knows holds for all of the episode."""
    found = tally(
        seen(0, 0, low=None, high=9_000, limits={"f": 1_500}), seen(5, 2_000, low=900, high=2_000), seen(9, 2_000)
    )
    assert found.charged == Amount(400, 500)


def test_an_arrival_ends_an_episode() -> None:
    """What is proven afterwards says nothing about before; what arrived may have been there since the last reading."""
    later = seen(9, 1_400, low=2_000, high=2_100, since=9 * 60_000, cause=Cause.RETURN, limits={"f": 2_000})
    found = tally(seen(0, 0, limits={"f": 1_500}), seen(5, 1_400, reading_at=5 * 60_000, limits={"f": 1_500}), later)
    assert found.charged == Amount(300, 400)
    unsure = tally(seen(0, 0, limits={"f": 1_500}), later)
    assert unsure.charged == Amount(0, 400)


def test_a_loss_may_have_happened_before_it_was_seen() -> None:
    """Nothing is called a false block that may have been right."""
    later = seen(9, 700, low=400, high=450, since=9 * 60_000, cause=Cause.LOSS)
    assert tally(seen(0, 0), later).refused.low == 0


def test_an_unknown_limit_lets_nothing_through() -> None:
    """Free tokens refused then are told apart: the limit was not wrong, there was none."""
    found = tally(seen(0, 100, limits={"f": None}), seen(5, 800))
    assert (found.unknown, found.refused, found.false_blocks) == (Amount(700, 700), Amount(0, 0), 0)


def test_what_is_not_proven_is_said() -> None:
    """Without any reading nothing is free or charged for certain."""
    found = hindsight(seen(0, 0, low=None, high=None), seen(5, 800, low=None, high=None))
    assert found.unproven == 800
    assert found.tallies["f"].refused == Amount(0, 0)
    assert found.tallies["f"].charged == Amount(0, 0)


def test_a_day_leaves_unused_what_the_last_limit_shuts_out() -> None:
    """Up to the daily cap, beyond which nothing comes back; each day for itself."""
    found = tally(seen(0, 100), seen(5, 200, day="d2", base=200, low=1_200, high=1_300, limits={"f": 900}))
    assert found.unused == Amount(500 + 100, 600 + 200)
    assert tally(seen(0, 100, cap=600)).unused == Amount(100, 100)


def test_usage_of_a_day_counts_against_its_own_limit() -> None:
    """What was used until midnight meets yesterday's limit, the rest today's."""
    found = tally(
        seen(0, 400), seen(5, 900, day="d2", base=600, low=1_600, high=1_700, limits={"f": 900}), seen(9, 950)
    )
    assert found.refused == Amount(100, 100)


def test_false_blocks_are_counted_when_they_begin() -> None:
    """Twice, with more than the buffer left; at the end of the pool refusing is right."""
    steps = [
        seen(0, 0), seen(5, 300, limits={"f": 200}), seen(6, 310, limits={"f": 200}), seen(10, 320), seen(20, 600),
        seen(30, 995),
    ]  # fmt: skip
    found = tally(*(replace(step, low=5_000, high=5_000) for step in steps[:-1]))
    assert (found.false_blocks, found.refusing) == (2, 5 * 60_000)
    assert tally(seen(0, 900), seen(5, 995)).false_blocks == 0


def test_refusals_of_the_recorded_gate_are_judged() -> None:
    """False if even the call that needed most was free for certain."""
    calls = [
        Refusal(id=f"x{number}", at=number, model="m", usage=usage, reserve=16, limit=300)
        for number, usage in enumerate((400, 420, 1_090))
    ]
    gate = hindsight(seen(0, 400), *calls[:2], seen(5, 1_090), calls[2]).gate
    assert (gate.refused, gate.falsely, gate.left) == (3, 2, 580)
    assert gate.example == calls[1]
    assert hindsight(calls[0]).gate.refused == 0


def true_pools(name: str, looker: Looker, found: list) -> list[tuple[int, int]]:
    """(time, true pool on the cumulative scale) at each reading."""
    with gzip.open(SCENARIOS / f"{name}.truth.jsonl.gz", "rt", encoding="utf-8") as file:
        truths = {line["id"]: line for line in map(json.loads, file)}
    rulings = [(each.reading, next(iter(each.rulings.values()))) for each in found]
    # Truth counts the first day from its beginning, also where metering began later.
    unseen = truths[rulings[0][0].id]["used"] - rulings[0][1].used
    first = rulings[0][1].day
    return [
        (reading.at, ruling.base + truths[reading.id]["pool"] - (unseen if ruling.day == first else 0))
        for reading, ruling in rulings
    ]


def known_truth(pools: list[tuple[int, int]], ruling: Seen) -> Seen:
    """The ruling as one who knows the pool would see it: between two readings it may have changed at any time."""
    index = bisect_right([at for at, _ in pools], ruling.at)
    around = [pool for _, pool in pools[max(0, index - 1) : index + 1]]
    since = pools[max(0, index - 1)][0]
    return replace(ruling, low=min(around), high=max(around), since=since, cause=None)


@pytest.mark.parametrize("name", INSIDE)
def test_proof_agrees_with_truth(name: str) -> None:
    """In each recorded scenario and for each formula the truth lies between what is proven and what is possible, give
    or take what readings may be off by, and these two are close."""
    looker, found = look(recorded(SCENARIOS / f"{name}.jsonl.gz"))
    pools = true_pools(name, looker, found)
    real = Hindsight("model:m", FORMULAS)
    for ruling in looker.seen:
        real.see(known_truth(pools, ruling))
    real.finish()
    days = len(looker.hindsight.days)
    give = residual(max(pool for _, pool in pools)) * days
    for formula, proven in looker.hindsight.tallies.items():
        for amount in AMOUNTS:
            told, true = getattr(proven, amount), getattr(real.tallies[formula], amount)
            assert told.low <= true.high + give, (formula, amount)
            assert true.low <= told.high + give, (formula, amount)
        assert proven.unused.high - proven.unused.low <= 2 * give
        assert proven.refused.high - proven.refused.low <= 2 * give


@pytest.mark.parametrize(("kind", "seed"), [("exhausted", 1), ("late", 3), ("slow", 4)])
def test_proof_agrees_with_the_bill(kind: str, seed: int) -> None:
    """Two simulated days without a gate, on which much is charged: how much each formula would have let through and
    how much it would have refused is proven to within what readings may be off by."""
    records, calls = without_a_gate(kind, 2, seed)
    looker, _ = look(records)
    for formula, proven in looker.hindsight.tallies.items():
        real = truth(calls, looker.seen, formula)
        give = residual(1_500_000)
        assert proven.charged.low - give <= real.charged <= proven.charged.high + give, formula
        assert proven.refused.low - give <= real.refused <= proven.refused.high + give, formula
    assert sum(call.charged for call in calls) > 0
    assert truth(calls, looker.seen, "v6").charged > 0
    assert looker.hindsight.tallies["interval"].charged.low == 0
