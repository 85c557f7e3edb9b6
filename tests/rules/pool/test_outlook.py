"""Expectations: shown, alerted on when overdue, never part of a limit."""

from __future__ import annotations

from rules.moment import DAY, HOUR
from rules.outlook import needed_per_day, outlook, will_expire
from rules.policy import ModelTerms
from rules.records import Package


def look_ahead(model, text: str):
    bounds = model.look(text)
    return outlook(model.state, model.terms, model.metered, bounds, model.at(text))


def spent_yesterday(model, tokens: int) -> None:
    model.start("2026-08-12T00:00:00+08:00")
    for hour in range(24):
        model.use(f"2026-08-12T{hour:02}:30:00+08:00", tokens // 24)
    model.read("00:35", 1_200_000)


def package(name: str, available: int, days: float) -> Package:
    return Package(id=name, total=available, available=available, effective=0, expires=round(days * DAY))


def test_what_was_used_yesterday_is_expected_back_up_to_the_cap(model, observed) -> None:
    """2.4 million used bring 2 million back."""
    spent_yesterday(model, 480_000)
    assert look_ahead(model, "01:00").expected_return == 480_000
    much = observed()
    spent_yesterday(much, 2_400_000)
    assert look_ahead(much, "01:00").expected_return == 2_000_000


def test_the_expected_return_raises_no_limit(model) -> None:
    """The low end rises by evidence only."""
    spent_yesterday(model, 480_000)
    model.look("01:00")
    assert model.low <= 1_200_000


def test_a_return_is_overdue_at_noon_and_told_once(model) -> None:
    """Until then it may still come."""
    spent_yesterday(model, 480_000)
    assert not look_ahead(model, "11:59").overdue
    assert look_ahead(model, "12:00").overdue
    look_ahead(model, "13:00")
    assert model.kinds.count("return_overdue") == 1


def test_a_return_that_came_is_not_overdue(model) -> None:
    """Seen without lists by the rise of the balance."""
    spent_yesterday(model, 480_000)
    model.read("10:00", 1_680_000)
    ahead = look_ahead(model, "12:30")
    assert (ahead.overdue, ahead.returned) == (False, 480_000)
    assert "return_overdue" not in model.kinds


def test_the_pool_runs_out_by_the_rhythm_of_the_last_day(model) -> None:
    """50,000 an hour in office hours only: the night takes nothing."""
    model.start("2026-08-11T00:00:00+08:00")
    for hour in range(9, 19):
        model.use(f"2026-08-12T{hour:02}:30:00+08:00", 50_000)
    model.read("2026-08-12T23:00:00+08:00", 260_000)
    model.read("00:30", 260_000)
    ends = look_ahead(model, "00:30").runs_out_at
    assert model.at("14:00") <= ends <= model.at("15:31")


def test_a_pool_that_lasts_longer_than_a_week_has_no_end_in_sight(model) -> None:
    """None is not known, or not soon."""
    spent_yesterday(model, 48_000)
    assert look_ahead(model, "01:00").runs_out_at is None


def test_a_fresh_package_needs_66_667_a_day() -> None:
    """2,000,000 tokens in 30 days; with less something is left when it ends."""
    fresh = [package("grant", 2_000_000, 30)]
    assert needed_per_day(fresh, 0) == 66_667
    assert will_expire(fresh, 66_667, 0) == []
    unused = will_expire(fresh, 50_000, 0)
    assert [(known.id, known.tokens) for known in unused] == [("grant", 500_000)]


def test_packages_are_burned_in_the_order_in_which_they_end() -> None:
    """What the first leaves of the usage reaches the second."""
    queue = [package("second", 300_000, 20), package("first", 100_000, 5)]
    assert [(known.id, known.tokens) for known in will_expire(queue, 15_000, 0)] == [
        ("first", 25_000),
        ("second", 75_000),
    ]
    assert needed_per_day(queue, 0) == 20_000


def test_the_rate_of_a_short_past_is_scaled_to_a_day(observed) -> None:
    """Two hours of metering are the best there is."""
    model = observed(ModelTerms())
    model.start("08:00")
    model.use("08:30", 10_000)
    model.use("09:30", 10_000)
    model.read("10:00", 220_000)
    ends = look_ahead(model, "10:00").runs_out_at
    assert model.at("10:00") + 20 * HOUR <= ends <= model.at("10:00") + 23 * HOUR
