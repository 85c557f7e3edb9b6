"""A pool read off the provider's console: tightens both ends, or is asked about."""

from __future__ import annotations

import pytest

from rules.policy import ModelTerms


def metered_overnight(model) -> None:
    """5,000 tokens between 23:40 and midnight, 20,000 in the morning, a reading that leaves the ends 25,000 apart."""
    model.start("2026-08-12T20:00:00+08:00")
    model.use("2026-08-12T23:45:00+08:00", 5_000)
    model.use("09:50", 20_000)
    model.read("10:00", 1_005_000)


def test_a_calibration_counts_from_the_start_of_the_day(model) -> None:
    """The pool is at most what the console said, at least that less what was unsettled at midnight."""
    metered_overnight(model)
    notices = model.calibrate("10:05", 1_015_000)
    model.look("10:05")
    assert [str(notice.kind) for notice in notices] == ["calibrated"]
    assert model.high == 1_015_000
    assert 1_010_000 <= model.low <= 1_015_000


def test_one_above_what_the_readings_allow_does_not_rule(model) -> None:
    """The lower rules, and the operator is asked."""
    metered_overnight(model)
    before = model.look("10:05")
    notices = model.calibrate("10:05", 1_500_000)
    assert [str(notice.kind) for notice in notices] == ["calibration_conflict"]
    assert model.look("10:05").pool_high == before.pool_high


def test_one_below_what_the_readings_say_rules(model) -> None:
    """The lower rules, and the operator is asked all the same."""
    metered_overnight(model)
    notices = model.calibrate("10:05", 600_000)
    model.look("10:05")
    assert [str(notice.kind) for notice in notices] == ["calibration_conflict"]
    assert model.high == 600_000
    assert model.low <= 600_000


def test_force_rules_alone_and_is_told(model) -> None:
    """Against all readings; the notice says who did it."""
    metered_overnight(model)
    notices = model.calibrate("10:05", 1_500_000, force=True, by="lin")
    model.look("10:05")
    assert [str(notice.kind) for notice in notices] == ["calibrated"]
    assert "lin" in notices[0].reason
    assert "force" in notices[0].reason
    assert (model.low, model.high) == (1_495_000, 1_500_000)


def test_the_arrivals_of_the_day_are_added(model) -> None:
    """The console's figure is of midnight; 700,000 came at 08:00."""
    model.start("2026-08-12T20:00:00+08:00")
    model.read("07:00", 500_000)
    model.read("08:30", 1_200_000)
    model.calibrate("09:00", 500_000)
    model.look("09:00")
    assert (model.low, model.high) == (1_200_000, 1_200_000)


def test_a_wrong_calibration_is_found_out_by_the_next_readings(model) -> None:
    """Forced 300,000 too high: a loss, told, and the pool is right again."""
    metered_overnight(model)
    model.calibrate("10:05", 1_300_000, force=True)
    model.read("10:45", 985_000)
    assert "unexplained" in model.kinds
    assert abs(model.low - 1_005_000) <= 150


def test_a_calibration_too_low_is_told_and_never_charges(model) -> None:
    """Forced 300,000 too low: readings above it are taken for a longer lag first, so free tokens stay unused."""
    metered_overnight(model)
    model.calibrate("10:05", 700_000, force=True)
    model.use("10:10", 1_000)
    model.read("10:45", 984_000)
    assert {"lag_bound_broken", "unseen_arrival"} & set(model.kinds)
    assert model.low <= 1_005_000


def test_one_of_another_day_is_refused(model) -> None:
    """Only the day's own start is known."""
    metered_overnight(model)
    notices = model.calibrate("10:05", 1_000_000, day="2026-08-12")
    assert [str(notice.kind) for notice in notices] == ["calibration_conflict"]
    assert len(model.state.evidence) == 1


def test_the_same_calibration_twice_is_one(model) -> None:
    """It is told once."""
    metered_overnight(model)
    model.calibrate("10:05", 1_015_000)
    assert model.calibrate("10:06", 1_015_000) == []


def test_a_pool_without_any_balance_interface_is_entered_by_hand(observed) -> None:
    """Usage alone then moves it, and it does not grow stale within the day."""
    model = observed(ModelTerms(small_buffer=0))
    model.start("08:00")
    model.calibrate("08:00", 2_000_000, force=True)
    model.use("08:30", 300_000)
    bounds = model.look("20:00")
    assert bounds.pool_low == 2_000_000
    assert not bounds.stale
    assert model.limit().tokens == 2_000_000


@pytest.mark.parametrize("seed", [0, 250_000])
def test_what_was_used_before_metering_began_is_not_in_the_pool_of_midnight(model, seed: int) -> None:
    """A seed counts as used today, so the calibrated pool of the day stays what the console said."""
    model.start("13:00")
    model.curve.seed = seed
    model.calibrate("13:05", 900_000, force=True)
    model.look("13:05")
    assert (model.low, model.high) == (900_000, 900_000)
