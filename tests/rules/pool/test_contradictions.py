"""Readings that do not fit: an empty pool, a longer lag, an arrival nobody saw, a loss, and mere residuals."""

from __future__ import annotations

from rules.moment import HOUR, MINUTE


def known(model, pool: int = 1_000_000) -> None:
    """Both ends meet at `pool` at 08:00."""
    model.start("05:00")
    model.use("05:01", 1_000)
    model.read("08:00", pool - 1_000)


def busy(model, begin: int, minutes: int, pace: int = 1_000) -> None:
    """`pace` tokens a minute from `begin` minutes after 08:00."""
    for minute in range(begin, begin + minutes):
        model.use(clock(minute), pace)


def clock(minute: int) -> str:
    return f"{8 + minute // 60:02}:{minute % 60:02}"


def test_a_longer_lag_is_learned_and_both_ends_are_kept(model) -> None:
    """Nothing was settled for an hour: the balance must not be read as an arrival."""
    known(model)
    busy(model, 1, 60)
    model.read(clock(61), 999_000)
    assert model.kinds == ["lag_bound_broken"]
    assert model.bounds.lag_bound > 60 * MINUTE
    assert model.low <= 1_000_000
    assert abs(model.high - 1_000_000) <= 150


def test_a_learned_lag_is_forgotten_after_a_day_without_another(model) -> None:
    """D falls back to the policy's."""
    known(model)
    busy(model, 1, 60)
    model.read(clock(61), 999_000)
    longer = model.bounds.lag_bound
    model.look("2026-08-14T08:59:00+08:00")
    assert model.bounds.lag_bound == longer
    model.look("2026-08-14T09:02:00+08:00")
    assert model.bounds.lag_bound == 30 * MINUTE


def two_days(minute: int) -> str:
    """`minute` minutes after 08:00, over midnight as well."""
    day, time = divmod(8 * 60 + minute, 24 * 60)
    return f"2026-08-{13 + day}T{time // 60:02}:{time % 60:02}:00+08:00"


def test_a_learned_lag_is_kept_as_long_as_readings_need_it(model) -> None:
    """Books that stay 50 minutes behind teach a bound once. No reading breaks it, so it must not be forgotten a day
    later: the next readings would be believed too much. A day after the books are up to date it is."""
    known(model)
    for minute in range(10, 30 * 60, 10):
        model.use(two_days(minute), 1_000)
        model.read(two_days(minute), 999_000 - 1_000 * max(0, minute - 50) // 10)
        assert model.bounds.pool_low <= 1_000_000
    assert set(model.kinds) == {"lag_bound_broken", "return_overdue"}
    broken = [notice.at for notice in model.notices if notice.kind == "lag_bound_broken"]
    assert max(broken) < model.at("10:00")
    assert model.bounds.lag_bound >= 50 * MINUTE
    left = 999_000 - 100 * (30 * 60 - 10)
    model.read(two_days(32 * 60), left)
    model.read(two_days(55 * 60), left)
    assert model.bounds.lag_bound == 30 * MINUTE


def test_more_than_any_lag_explains_is_an_arrival_nobody_saw(model) -> None:
    """Not even C(t - 6 h) fits: the pool is started afresh, and what the episode added to D is undone."""
    known(model)
    other = model.package("pkg-1", 2_000_000, 999_000, "2026-08-12T23:59:00+08:00", "2026-09-12T23:59:00+08:00")
    model.read("08:10", 999_000, other)
    busy(model, 11, 60)
    topped = model.package("pkg-1", 2_000_000, 999_000, "2026-08-12T23:59:00+08:00", "2026-09-12T23:59:00+08:00")
    model.read(clock(72), 999_000, topped)
    assert model.bounds.lag_bound > 30 * MINUTE
    refilled = model.package("pkg-1", 2_000_000, 1_500_000, "2026-08-12T23:59:00+08:00", "2026-09-12T23:59:00+08:00")
    model.read("09:20", 1_500_000, refilled)
    assert model.kinds == ["lag_bound_broken", "unseen_arrival"]
    assert model.bounds.lag_bound == 30 * MINUTE
    assert model.low > 1_000_000
    assert model.bounds.grant == 1


def test_an_empty_pool_teaches_no_lag_and_keeps_both_ends(model) -> None:
    """What is used beyond the pool is charged, and C grows without the balance falling."""
    known(model, 50_000)
    busy(model, 1, 100)
    model.read("10:30", 0)
    model.read("11:30", 0)
    assert model.kinds == []
    assert model.bounds.lag_bound == 30 * MINUTE
    assert abs(model.low - 50_000) <= 150
    assert abs(model.high - 50_000) <= 150
    assert model.bounds.charged_low <= 51_000 <= model.bounds.charged_high


def test_charged_tokens_are_said_as_an_interval(model) -> None:
    """At most what is beyond the low end; for certain what is beyond the high one once a reading shows that no package
    has come: until then it may have been taken from one that nobody has seen."""
    known(model, 50_000)
    busy(model, 1, 60)
    model.look("09:10")
    assert model.bounds.charged_low == 0
    assert model.bounds.charged_high == 61_000 - 50_000 + 25
    model.read("09:15", 0)
    assert model.bounds.charged_low == 61_000 - 50_000 - 25
    assert model.bounds.charged_high >= 61_000 - 50_000 + 25


def test_a_loss_starts_the_pool_afresh_and_is_told_with_its_size(model) -> None:
    """150,000 were used by somebody else."""
    known(model)
    model.read("08:10", 849_000)
    assert model.kinds == ["unexplained"]
    assert model.notices[0].numbers["least"] == 150_000
    assert abs(model.low - 850_000) <= 150
    assert abs(model.high - 850_000) <= 150


def test_a_loss_without_any_usage_since_says_that_nothing_is_metered(model) -> None:
    """The balance falls and no meter has moved for a day: usage goes another way."""
    model.start("05:00")
    model.read("08:00", 1_000_000)
    model.read("09:00", 850_000)
    assert model.kinds == ["readings_without_usage"]


def test_repeated_losses_teach_the_unmetered_share(model) -> None:
    """Once they repeat, the low end is lowered by that share of recent usage."""
    known(model)
    balance, begin = 999_000, 1
    for _ in range(3):
        busy(model, begin, 60)
        balance -= 60_000 + 12_000
        begin += 100
        model.read(clock(begin - 1), balance)
    assert set(model.kinds) == {"unexplained"}
    assert 0.15 <= model.bounds.share <= 0.25
    low = model.low
    busy(model, begin, 10)
    model.look(clock(begin + 10))
    assert low - 0.25 * 10_000 - 10 <= model.low < low


def test_one_loss_teaches_no_share(model) -> None:
    """A single event says nothing about usage to come."""
    known(model)
    busy(model, 1, 30)
    model.read("10:00", 819_000)
    assert model.kinds == ["unexplained"]
    assert model.bounds.share == 0


def test_residuals_mean_nothing_and_the_lower_value_rules(model) -> None:
    """115 and 135 tokens were seen: neither a loss nor an arrival nor a lag is made of them."""
    known(model)
    model.read("08:10", 999_135)
    assert model.low <= 1_000_000
    model.read("08:20", 998_885)
    assert model.kinds == []
    assert model.low <= 1_000_000 <= model.high


def test_contradictions_wait_until_usage_is_complete(model) -> None:
    """A reading ahead of the meters looks like a loss until late usage is in."""
    known(model)
    early = model.read("09:00", 899_000, complete_until="08:59:58")
    assert not early.complete
    model.use("08:30", 100_000)
    assert model.look("09:00:06", complete_until="09:00:01").complete
    assert model.kinds == []
    assert abs(model.low - 1_000_000) <= 150


def test_a_reading_ahead_of_the_meters_does_not_lower_the_high_end(model) -> None:
    """Until its usage is complete only the low end may use it."""
    known(model)
    model.read("09:00", 899_000, complete_until="08:59:58")
    assert abs(model.high - 1_000_000) <= 150


def test_a_lag_of_hours_may_not_be_learned_beyond_the_ceiling(model) -> None:
    """D never exceeds D_max."""
    known(model)
    busy(model, 1, 350)
    model.read(clock(352), 999_000)
    assert model.bounds.lag_bound <= 6 * HOUR
