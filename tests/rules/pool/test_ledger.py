"""The books of a day close, at both ends, whatever happened."""

from __future__ import annotations

from rules.ledger import Amount, keep_books

MONTH = "2026-09-12T23:59:00+08:00"
YESTERDAY = "2026-08-12T23:59:00+08:00"


def books(model, text: str, carried: Amount | None = None):
    bounds = model.look(text)
    return keep_books(model.state, model.metered, bounds, model.at(text), carried)


def eventful_day(model) -> None:
    """1,000,000 at first; 300,000 used, 700,000 come, 100,000 expire, 50,000 go unmetered."""
    model.start("2026-08-12T20:00:00+08:00")
    lasting = model.package("lasts", 900_000, 900_000, YESTERDAY, MONTH)
    ending = model.package("ends", 100_000, 100_000, "2026-07-14T12:00:00+08:00", "12:00")
    model.read("00:30", 1_000_000, ending, lasting)
    model.use("09:00", 300_000)
    after = model.package("lasts", 900_000, 600_000, YESTERDAY, MONTH)
    model.read("10:00", 700_000, ending, after)
    back = model.package("back", 700_000, 700_000, "10:30", MONTH)
    model.read("10:40", 1_400_000, ending, after, back)
    model.read("12:10", 1_300_000, after, back)
    model.use("14:00", 1_000)
    less = model.package("lasts", 900_000, 549_000, YESTERDAY, MONTH)
    model.read("16:00", 1_249_000, less, back)


def test_opening_and_everything_after_make_the_closing(model) -> None:
    """opening + returns + charged - used - expired - unexplained = closing: 1,000,000 + 700,000 - 301,000 - 100,000 -
    50,000 = 1,249,000, each of them within its two ends."""
    eventful_day(model)
    day = books(model, "16:00")
    for amount, true in (
        (day.opening, 1_000_000),
        (day.returns, 700_000),
        (day.charged, 0),
        (day.expired, 100_000),
        (day.unexplained, 50_000),
        (day.closing, 1_249_000),
    ):
        assert amount.low <= true <= amount.high
    assert day.used == 301_000


def test_a_known_evening_narrows_the_opening(model) -> None:
    """What a return was is not always known; what was left at midnight is."""
    eventful_day(model)
    alone, carried = books(model, "16:00").opening, books(model, "16:00", Amount(999_900, 1_000_100)).opening
    assert carried == Amount(999_900, 1_000_100).with_(alone)
    assert carried.high - carried.low <= 200 < alone.high - alone.low


def test_a_listed_package_came_as_a_whole(model) -> None:
    """At first sight 200,000 of it were used and settled already: they are in the usage, and the opening is right."""
    model.start("2026-08-12T12:00:00+08:00")
    old = model.package("old", 1_000_000, 0, YESTERDAY, MONTH)
    model.read("00:30", 0, old)
    model.use("10:31", 200_000)
    model.read("10:50", 500_000, old, model.package("back", 700_000, 500_000, "10:30", MONTH))
    model.read("11:40", 500_000, old, model.package("back", 700_000, 500_000, "10:30", MONTH))
    day = books(model, "11:40")
    assert day.returns == (700_000, 700_000)
    assert day.opening.low == 0
    assert day.opening.high <= 300


def test_each_line_holds_what_happened(model) -> None:
    """And the opening is what the day really began with."""
    eventful_day(model)
    day = books(model, "16:00")
    assert (day.used, day.expired.high, day.returns) == (301_000, 100_000, (700_000, 700_000))
    assert day.unexplained.low <= 50_000 <= day.unexplained.high
    assert day.closing.low <= 1_249_000 <= day.closing.high
    assert day.opening.low <= 1_000_000 <= day.opening.high


def test_the_opening_meets_the_closing_of_the_evening_before(model) -> None:
    """Or else something happened overnight that nobody saw."""
    model.start("2026-08-12T12:00:00+08:00")
    model.read("2026-08-12T23:59:00+08:00", 800_000)
    evening = books(model, "2026-08-12T23:59:59+08:00").closing
    model.read("00:10", 800_000)
    assert books(model, "00:10", evening).meets
    model.read("01:00", 600_000)
    assert not books(model, "01:00", Amount(900_000, 950_000)).meets


def test_charged_tokens_are_used_without_being_taken_from_the_pool(model) -> None:
    """10,000 opened, 50,000 were used, nothing is left: 40,000 were charged."""
    model.start("2026-08-12T12:00:00+08:00")
    model.read("00:05", 10_000)
    model.use("09:00", 50_000)
    model.read("10:00", 0)
    day = books(model, "10:00")
    assert (day.used, day.closing) == (50_000, (0, 0))
    assert day.charged.low <= 40_000 <= day.charged.high
    assert day.opening.low <= 10_000 <= day.opening.high


def test_tokens_that_came_unseen_are_booked_with_all_they_may_be(model) -> None:
    """600,000 more in a package that was known; the ends were 40,000 apart before, and what was left is in doubt."""
    model.start("2026-08-12T12:00:00+08:00")
    before = model.package("lasts", 2_000_000, 1_000_000, YESTERDAY, MONTH)
    model.use("09:45", 40_000)
    model.read("10:00", 1_000_000, before)  # nothing settled yet
    model.read("10:20", 1_560_000, model.package("lasts", 2_000_000, 1_560_000, YESTERDAY, MONTH))
    day = books(model, "10:20")
    assert "unseen_arrival" in model.kinds
    assert day.returns.low <= 600_000 <= day.returns.high
    assert day.opening.low <= 1_000_000 <= day.opening.high


def test_there_are_no_books_of_an_unknown_pool(model) -> None:
    """None, not zeros."""
    assert books(model, "10:00") is None
