"""Unknown is a state of its own: never zero, never a guess, and it says why."""

from __future__ import annotations

from rules.policy import ModelTerms, Unknown
from rules.pool import observe
from rules.records import Reading


def test_without_a_reading_both_ends_are_unknown(model) -> None:
    """Usage alone says nothing about the pool."""
    model.use("09:00", 1_000)
    bounds = model.look("10:00")
    assert (bounds.pool_low, bounds.pool_high) == (None, None)
    assert bounds.why == "no reading of the balance yet"


def test_the_low_end_needs_metering_for_the_lag_bound(model) -> None:
    """A reading settled before metering began may hide usage nobody counted."""
    model.start("09:00")
    model.read("09:10", 500_000)
    assert model.low is None
    assert model.high == 500_150
    model.read("09:30", 500_000)
    assert model.low == 499_850


def test_a_gap_in_metering_makes_the_low_end_unknown_for_d(model) -> None:
    """Usage lost in the gap is in no sum; a reading half an hour later stands on complete usage again."""
    model.start("06:00")
    model.read("09:00", 500_000)
    model.start("09:10")
    model.read("09:20", 500_000)
    assert model.low is None
    model.read("09:40", 500_000)
    assert model.low == 499_850


def test_an_empty_list_is_no_reading(model) -> None:
    """A token without rights lists nothing: unknown, not zero."""
    model.start("06:00")
    model.read("09:00", 500_000)
    assert not observe(model.state, Reading(id="e", at=model.at("09:10"), model="m", available=0, packages=()))
    assert model.look("09:10").pool_low == 499_850


def test_a_reading_too_old_closes(model) -> None:
    """The policy's default: without news for two hours nothing is known."""
    model.start("06:00")
    model.read("09:00", 500_000)
    assert model.look("11:00").pool_low == 499_850
    bounds = model.look("11:00:01")
    assert bounds.stale
    assert bounds.pool_low is None
    assert bounds.why == "the last reading is too old"
    assert bounds.pool_high == 500_150


def test_or_holds_the_last_low_end(observed) -> None:
    """Where the policy says so."""
    model = observed(ModelTerms(unknown=Unknown.HOLD))
    model.start("06:00")
    model.read("09:00", 500_000)
    bounds = model.look("15:00")
    assert (bounds.stale, bounds.pool_low) == (True, 499_850)


def test_usage_without_readings_is_told_once_until_they_come_back(model) -> None:
    """Somebody should look after the poller."""
    model.start("06:00")
    model.read("09:00", 500_000)
    model.use("10:00", 1_000)
    model.look("11:01")
    model.look("11:30")
    assert model.kinds == ["usage_without_readings"]
    model.read("11:40", 499_000)
    model.use("12:00", 1_000)
    model.look("13:50")
    assert model.kinds == ["usage_without_readings"] * 2


def test_an_idle_model_without_readings_is_no_news(model) -> None:
    """Nothing is spent."""
    model.start("06:00")
    model.read("09:00", 500_000)
    model.look("15:00")
    assert model.kinds == []


def test_a_reading_from_the_future_waits(model) -> None:
    """A poller's clock may run ahead; what it says counts once its time has come."""
    model.start("06:00")
    model.read("09:00", 500_000)
    observe(model.state, Reading(id="ahead", at=model.at("09:08"), model="m", available=600_000, source="api"))
    assert model.look("09:05").pool_low == 499_850


def test_settled_until_makes_both_ends_meet_at_once(model) -> None:
    """The provider's deduction details say which usage the balance contains: no lag is left to bound."""
    model.start("06:00")
    model.use("09:01", 30_000)
    model.use("09:55", 20_000)
    model.read("10:00", 470_000, settled_until=model.at("09:30"))
    assert (model.low, model.high) == (500_000, 500_000)


def test_the_answers_own_duration_is_not_believed(model) -> None:
    """The content of a slow answer may be as old as the question."""
    model.start("06:00")
    model.use("09:25", 20_000)
    model.read("10:00", 480_000, asked_at=model.at("09:50"))
    assert model.low == 479_850
