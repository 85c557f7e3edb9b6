"""Packages that end: nothing in the low end from D before, in the high end only what cannot have been used."""

from __future__ import annotations

MONTH = "2026-09-12T23:59:00+08:00"
YESTERDAY = "2026-08-12T23:59:00+08:00"


def two_packages(model, ending_left: int = 300_000, lasting_left: int = 500_000):
    return (
        model.package("ends", 400_000, ending_left, "2026-07-14T12:00:00+08:00", "12:00"),
        model.package("lasts", 500_000, lasting_left, YESTERDAY, MONTH),
    )


def test_a_package_counts_for_nothing_from_d_before_its_end(model) -> None:
    """Usage just before the end may be settled after it, against other packages."""
    model.start("06:00")
    model.read("11:25", 800_000, *two_packages(model))
    assert abs(model.low - 800_000) <= 150
    model.look("11:29:59")
    assert abs(model.low - 800_000) <= 150
    model.look("11:30:00")
    assert abs(model.low - 500_000) <= 150
    assert abs(model.high - 800_000) <= 150


def test_the_high_end_falls_by_what_cannot_have_been_used(model) -> None:
    """Of 300,000 left at most the 40,000 used since can have come from it."""
    model.start("06:00")
    model.read("11:25", 800_000, *two_packages(model))
    model.use("11:40", 40_000)
    model.look("12:00:00")
    assert abs(model.high - (800_000 - 260_000)) <= 150


def test_an_end_that_was_listed_is_no_loss(model) -> None:
    """Even when no reading fell into the last half hour; it is booked and told as expired."""
    model.start("06:00")
    model.read("11:25", 800_000, *two_packages(model))
    model.read("12:20", 500_000, two_packages(model)[1])
    assert model.kinds == ["expired"]
    assert abs(model.low - 500_000) <= 150
    assert 300_000 <= model.state.expired[0].most <= 300_150


def test_after_the_end_the_order_of_deduction_shows_in_the_readings(model) -> None:
    """Usage before the end was taken from the other package here: the pool is smaller, and the ends say so."""
    model.start("06:00")
    model.read("11:25", 800_000, *two_packages(model))
    model.use("11:40", 40_000)
    model.read("13:00", 460_000, two_packages(model, lasting_left=460_000)[1])
    assert model.low <= 500_000 <= model.high
    assert model.high - model.low <= 300


def test_an_end_that_no_list_showed_is_a_loss(model) -> None:
    """Seen at the next reading, told with its size, and the pool is started afresh."""
    model.start("06:00")
    model.use("06:01", 1_000)
    model.read("11:25", 799_000)
    model.read("12:20", 499_000)
    assert model.kinds == ["unexplained"]
    assert model.notices[0].numbers["least"] == 300_000
    assert abs(model.low - 500_000) <= 150
