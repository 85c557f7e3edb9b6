"""Arrivals: what a new package or a higher balance adds to each end, and what raises nothing."""

from __future__ import annotations

MONTH = "2026-09-12T23:59:00+08:00"
YESTERDAY = "2026-08-12T23:59:00+08:00"


def quiet_pool(model, *packages, available: int = 500_000) -> None:
    """Both ends meet at `available` at 09:30."""
    model.start("06:00")
    model.use("06:01", 1_000)
    model.read("09:30", available - 1_000, *packages)


def old(model, available: int):
    return model.package("pkg-1", 600_000, available, YESTERDAY, MONTH)


def test_a_new_package_raises_both_ends_at_first_sight(model) -> None:
    """By what is left of it the low end, by its total the high end."""
    quiet_pool(model, old(model, 499_000))
    low, high = model.low, model.high
    model.use("09:40", 50_000)
    new = model.package("pkg-2", 700_000, 690_000, "09:35", MONTH)
    model.read("09:50", 459_000 + 690_000, old(model, 459_000), new)
    assert model.low - low >= 690_000 - 150
    assert model.high - high == 700_000
    assert model.kinds == ["arrival"]


def test_a_package_listed_ahead_counts_from_its_effective_time_on(model) -> None:
    """It is known before it can be used."""
    quiet_pool(model, old(model, 499_000))
    low = model.low
    ahead = model.package("pkg-2", 700_000, 700_000, "10:00", MONTH)
    model.read("09:40", 499_000 + 700_000, old(model, 499_000), ahead)
    assert model.low <= low
    model.look("09:59:59")
    assert model.low <= low
    model.look("10:00:00")
    assert model.low >= low + 700_000 - 150


def test_an_unknown_package_of_old_raises_nothing(model) -> None:
    """Effective long before the last list: earlier ones were short. The reading alone speaks, at both ends."""
    quiet_pool(model, old(model, 499_000))
    before = model.low
    strange = model.package("pkg-0", 300_000, 300_000, YESTERDAY, MONTH)
    model.use("09:45", 20_000)
    model.read("09:50", 799_000, old(model, 499_000), strange)
    assert [notice.numbers["low"] for notice in model.notices] == [0]
    assert model.low == before + 300_000
    assert model.high >= 799_000 + 21_000


def test_the_first_list_raises_nothing(model) -> None:
    """Every package is unknown then."""
    quiet_pool(model)
    low = model.low
    model.read("09:40", 499_000, old(model, 499_000))
    assert model.low == low
    assert model.kinds == []


def test_a_new_source_raises_nothing(model) -> None:
    """Its list may be longer than that of the source before."""
    quiet_pool(model, old(model, 499_000))
    other = model.package("pkg-9", 100_000, 100_000, "09:35", MONTH)
    model.read("09:40", 599_000, old(model, 499_000), other, source="console")
    assert "arrival" not in model.kinds


def test_packages_on_two_pages_count_once(model) -> None:
    """The balance was summed over pages of which one repeats a package."""
    model.start("06:00")
    one, two = old(model, 300_000), model.package("pkg-2", 200_000, 100_000, YESTERDAY, MONTH)
    model.read("09:30", 500_000, one, two, two)
    assert model.high == 400_000 + 150


def test_packages_outside_their_validity_are_no_balance(model) -> None:
    """Expired tokens cannot be used though the list still shows them."""
    model.start("06:00")
    gone = model.package("pkg-0", 900_000, 250_000, "2026-07-13T09:00:00+08:00", "09:00")
    model.read("09:30", 749_000, gone, old(model, 499_000))
    assert model.high == 499_000 + 150


def test_without_lists_the_rise_of_the_balance_is_an_arrival(model) -> None:
    """Both ends go up; what was unsettled in between only comes back through readings."""
    quiet_pool(model)
    model.read("10:30", 499_000 + 700_000)
    assert model.kinds == ["arrival"]
    assert abs(model.low - 1_200_000) <= 150
    assert abs(model.high - 1_200_000) <= 150


def test_a_rise_that_settlement_running_backwards_explains_raises_nothing(model) -> None:
    """Two servers of one provider, one of them behind: a busy model's balance may rise without any arrival."""
    quiet_pool(model)
    model.use("09:40", 30_000)
    model.read("09:45", 469_000)
    low = model.low
    model.read("09:50", 499_000)
    assert "arrival" not in model.kinds
    assert model.low == low


def test_the_true_pool_stays_within_the_ends_over_an_arrival_in_full_swing(model) -> None:
    """500,000 at first, 400,000 more at 10:00, everything settled ten minutes late: both ends hold at each reading."""
    quiet_pool(model)
    used = {9: 1_000}
    for minute in range(60):
        model.use(f"{9 + (35 + minute) // 60}:{(35 + minute) % 60:02}".zfill(5), 2_000)
    for minute in range(40, 60, 5):
        model.read(f"09:{minute}", 499_000 - 2_000 * max(0, minute - 45))
    for minute in range(0, 30, 5):
        model.read(f"10:{minute:02}", 899_000 - 2_000 * (minute + 15))
        assert model.low <= 900_000 <= model.high
    assert used


def test_the_high_end_stays_as_tight_as_it_was_when_old_hours_are_folded(model) -> None:
    """The pool was empty when 700,000 came at 10:05. Usage never rests after that and is settled 20 minutes late, so
    nothing is as telling as what was used by 10:05; at night the curve knows that hour only as a whole."""
    quiet_pool(model, old(model, 9_000), available=10_000)
    model.use("09:40", 9_000)
    empty = model.package("pkg-1", 600_000, 0, YESTERDAY, MONTH)
    model.read("10:04", 0, empty)
    for minute in range(6, 11 * 60, 10):
        text = f"{10 + minute // 60}:{minute % 60:02}"
        model.use(text, 5_000 if minute > 6 else 0)
        left = 700_000 - 5_000 * max(0, (minute - 26) // 10)
        model.curve.fold(model.at(text))
        model.read(text + ":30", left, empty, model.package("pkg-2", 700_000, left, "10:05", MONTH))
        assert model.low <= 710_000 <= model.high <= 710_300


def test_what_a_package_covered_before_it_was_seen_is_not_called_charged(model) -> None:
    """The pool is empty, a package comes at 10:05 and is first seen at 10:35: usage in between was taken from it."""
    quiet_pool(model, old(model, 9_000), available=10_000)
    model.use("09:30", 9_000)
    empty = model.package("pkg-1", 600_000, 0, YESTERDAY, MONTH)
    model.read("10:03", 0, empty)
    model.use("10:10", 20_000)
    model.use("10:20", 20_000)
    assert model.look("10:30").charged_low == 0
    model.read("10:35", 680_000, empty, model.package("pkg-2", 700_000, 680_000, "10:05", MONTH))
    assert model.bounds.charged_low == 0
    model.read("11:35", 660_000, empty, model.package("pkg-2", 700_000, 660_000, "10:05", MONTH))
    assert model.bounds.charged_low == 0


def test_after_an_overrun_a_package_is_not_used_up_by_what_was_charged(model) -> None:
    """Charged tokens are gone; the pool is then all used so far plus the new package."""
    quiet_pool(model, old(model, 9_000), available=10_000)
    model.use("09:40", 50_000)
    model.read("10:30", 0, model.package("pkg-1", 600_000, 0, YESTERDAY, MONTH))
    assert model.bounds.charged_low >= 41_000 - 150
    new = model.package("pkg-2", 700_000, 700_000, "10:35", MONTH)
    model.read("10:40", 700_000, model.package("pkg-1", 600_000, 0, YESTERDAY, MONTH), new)
    assert model.high >= 51_000 + 700_000
    assert model.bounds.charged_low >= 41_000 - 150
    model.read("11:40", 700_000, new)
    assert abs(model.low - 751_000) <= 150
    assert model.bounds.charged_high <= 41_000 + 150
