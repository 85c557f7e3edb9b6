"""A person can follow the bounds back to readings: each says what it makes of the pool, and why it counts or not."""

from __future__ import annotations

import pytest

from rules.evidence import allowance
from rules.grounds import Part
from rules.policy import ModelTerms
from rules.pool_state import Cause
from rules.testimony import CHANGES_TOLD, READINGS_TOLD, Court, ended, lag_bound, moves, remembered, witnesses


def court(model, text: str) -> Court:
    """The pool as it is looked at then."""
    model.look(text)
    return Court(model.state, model.terms, model.metered, model.bounds, model.at(text), {"r1": "log:1"})


def test_the_readings_that_gave_the_ends_are_named(model) -> None:
    """In order of time, with what each says and where it stood."""
    model.start("06:00")
    model.use("08:50", 40_000)
    model.read("09:00", 500_000)
    model.use("09:40", 10_000)
    model.read("09:45", 460_000)
    first, second = witnesses(court(model, "09:45"))
    assert (first.id, first.origin, second.id) == ("r1", "log:1", "r2")
    assert first.parts == (Part.LOW,)
    assert second.parts == (Part.HIGH, Part.LATEST)
    assert (first.low, first.high, second.low, second.high) == (500_000, 540_000, 500_000, 510_000)
    assert (second.by, second.settled, second.used) == (model.at("09:15"), 40_000, 50_000)


def test_the_sums_are_the_published_ends(model) -> None:
    """What the named readings say, less and plus the allowance, is what was published."""
    model.start("06:00")
    for minute in range(0, 120, 7):
        model.use(f"{7 + minute // 60:02}:{minute % 60:02}", 900 + minute)
        model.read(f"{7 + minute // 60:02}:{minute % 60:02}", 500_000 - 900 * (minute // 7))
        said = witnesses(court(model, f"{7 + minute // 60:02}:{minute % 60:02}"))
        low = next(each.low for each in said if Part.LOW in each.parts)
        high = next(each.high for each in said if Part.HIGH in each.parts)
        assert model.high == high + allowance(high)
        assert model.low == min(low, high) - allowance(high)


def test_what_does_not_count_says_why(model) -> None:
    """Too early for the low end, too old for it, or from before an arrival."""
    model.start("08:50")
    model.read("09:00", 500_000)
    model.read("09:25", 500_000)
    model.read("10:40", 900_000)
    early, old, newest = witnesses(court(model, "10:40"))
    assert early.low is None
    assert Part.EARLY in early.parts
    assert {Part.OLD, Part.BEFORE} <= set(old.parts)
    assert Part.LOW in newest.parts
    (rise,) = moves(court(model, "10:40"))
    assert (rise.cause, rise.low) == (Cause.RISE, 400_000)
    assert (old.came_low, newest.came_low) == (400_000, 0)


def test_a_reading_that_waits_for_usage_says_so(model) -> None:
    """It is not tested yet, and bounds nothing from above."""
    model.start("06:00")
    model.read("09:00", 500_000)
    model.read("09:30", 450_000, complete_until="09:29")
    now = model.at("09:30")
    said = witnesses(Court(model.state, model.terms, model.metered, model.bounds, now, {}))
    assert Part.WAITS in said[-1].parts


def test_packages_about_to_end_are_taken_off(model) -> None:
    """For the low end before they end, for the high end afterwards, as far as they cannot have been used."""
    model.start("06:00")
    model.read(
        "09:00", 300_000, model.package("p1", 100_000, 100_000, "2026-07-14T09:50:00+08:00", "09:20"),
        model.package("p2", 200_000, 200_000, "2026-08-01T00:00:00+08:00", "2026-08-31T00:00:00+08:00"),
    )  # fmt: skip
    (before,) = witnesses(court(model, "09:01"))
    assert (before.ending, before.lost, before.low, before.high) == (100_000, 0, 200_000, 300_000)
    (after,) = witnesses(court(model, "09:25"))
    assert (after.lost, after.high) == (100_000, 200_000)
    assert [(expired.id, expired.most) for expired in ended(court(model, "09:25"))] == [("p1", 100_000)]


def test_an_empty_pool_is_no_evidence(model) -> None:
    """The newest reading is told nevertheless: that it says nothing is what a person wants to know."""
    model.start("06:00")
    model.read("09:00", 10_000)
    model.use("09:05", 40_000)
    model.read("10:30", 0)
    said = witnesses(court(model, "10:30"))
    assert said[-1].id == "r2"
    assert said[-1].parts == (Part.LATEST, Part.SILENT)
    assert said[-1].low is None
    assert said[-1].high is None


def test_a_learned_lag_bound_is_told_with_its_time(model) -> None:
    """And without one the policy's own is told, learned at no time."""
    model.start("00:00")
    model.read("07:00", 500_000)
    assert (lag_bound(court(model, "07:00")).bound, lag_bound(court(model, "07:00")).at) == (1_800_000, 0)
    model.use("08:00", 50_000)
    model.read("08:50", 500_000)
    learned = lag_bound(court(model, "08:50"))
    assert learned.bound > learned.usual == 1_800_000
    assert learned.at == model.at("08:50")


def test_what_passes_no_meter_is_taken_off(observed) -> None:
    """After repeated losses the low end of each reading is lowered by the learned share."""
    model = observed(ModelTerms())
    model.start("00:00")
    for number, hour in enumerate(range(4, 20, 2)):
        model.use(f"{hour:02}:00", 10_000)
        model.read(f"{hour:02}:50", 500_000 - 15_000 * number)
    model.use("18:55", 1_000)
    said = witnesses(court(model, "18:56"))
    assert model.bounds.share > 0
    assert said[-1].unmetered == round(model.bounds.share * 1_000)
    assert {move.cause for move in moves(court(model, "18:56"))} == {Cause.LOSS}


def test_a_high_end_outlives_its_reading(observed) -> None:
    """The reading is forgotten, its number stays, and it is told as remembered."""
    model = observed(ModelTerms())
    model.start("00:00")
    model.read("01:00", 500_000)
    total = 0
    for minutes in range(70, 16 * 60, 10):
        total += 100
        model.use(f"{minutes // 60:02}:{minutes % 60:02}", 100)
        # Balances that lag by a hundred tokens: none is as tight from above as the first.
        model.read(f"{minutes // 60:02}:{minutes % 60:02}", 500_000 - total + 100)
    found = remembered(court(model, "15:50"))
    assert found is not None
    assert (found.id, found.high, found.origin) == ("r1", 500_000, "log:1")


@pytest.mark.parametrize("count", [1, 5, 50])
def test_few_are_told(model, count: int) -> None:
    """However many readings and changes there are, a handful is told: those that give an end are among them."""
    model.start("00:00")
    for number in range(count):
        model.read(f"{6 + number // 10:02}:{number % 10 * 6:02}", 100_000 * (number + 1))
    last = count - 1
    look = court(model, f"{6 + last // 10:02}:{last % 10 * 6:02}")
    said = witnesses(look)
    assert len(said) <= READINGS_TOLD
    assert len(moves(look)) <= CHANGES_TOLD
    assert {model.bounds.low_from, model.bounds.high_from, model.bounds.latest} <= {each.id for each in said}
