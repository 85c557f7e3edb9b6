"""C(t): exact in total, never too high for low ends, never too low for high ends, whatever order minutes come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.curve import Curve
from rules.moment import DAY, HOUR, MINUTE

START = 1_786_000_000_000 // HOUR * HOUR
minutes = st.dictionaries(st.integers(0, 20 * 60), st.integers(0, 50_000), max_size=60)


def curve_of(sums: dict[int, int]) -> Curve:
    curve = Curve()
    for minute, tokens in sums.items():
        curve.set(START // MINUTE + minute, tokens)
    return curve


def true_count(sums: dict[int, int], at: int) -> int:
    return sum(tokens for minute, tokens in sums.items() if START + minute * MINUTE <= at)


def test_a_running_minute_counts_for_high_ends_only() -> None:
    """Usage of a minute may be before or after an instant within it."""
    curve = curve_of({0: 10, 1: 7})
    inside = START + MINUTE + 30_000
    assert curve.ended_by(inside) == 10
    assert curve.begun_by(inside) == 17


def test_a_minute_that_ends_at_the_instant_has_ended() -> None:
    """The edge belongs to the past for low ends and to the future for high ends."""
    curve = curve_of({0: 10, 1: 7})
    assert curve.ended_by(START + MINUTE) == 10
    assert curve.begun_by(START + MINUTE) == 17


@given(minutes, st.randoms(use_true_random=False))
def test_the_order_in_which_minutes_come_changes_nothing(sums, shuffled) -> None:
    """Absolute sums, so an earlier, smaller sum of a minute is replaced and repeats change nothing."""
    arriving = [(m, n // 2) for m, n in sums.items()] + list(sums.items())
    shuffled.shuffle(arriving)
    curve = Curve()
    for minute, tokens in arriving:
        curve.set(START // MINUTE + minute, tokens)
    for minute, tokens in sums.items():
        curve.set(START // MINUTE + minute, tokens)
    straight = curve_of(sums)
    assert curve.total == straight.total == sum(sums.values())
    for at in range(START, START + 21 * HOUR, HOUR):
        assert (curve.ended_by(at), curve.begun_by(at)) == (straight.ended_by(at), straight.begun_by(at))


@given(minutes, st.integers(0, 60), st.integers(-4, 80))
def test_folding_keeps_every_token_and_both_sides(sums, folded_at, asked_at) -> None:
    """However old the minutes are: ended_by <= C(t) <= begun_by, and the total is exact."""
    curve = curve_of(sums)
    curve.fold(START + folded_at * HOUR)
    at = START + asked_at * HOUR
    assert curve.total == sum(sums.values())
    assert curve.ended_by(at) <= true_count(sums, at - MINUTE) <= true_count(sums, at) <= curve.begun_by(at)


@given(minutes, st.integers(0, 60), st.integers(0, 30))
def test_a_curve_read_back_answers_alike(sums, folded_at, asked_at) -> None:
    """What is stored and the minutes given again make the same curve."""
    curve = curve_of(sums)
    curve.fold(START + folded_at * HOUR)
    again = Curve(curve.folded)
    for minute, tokens in sums.items():
        again.set(START // MINUTE + minute, tokens)
    at = START + asked_at * HOUR
    assert (again.total, again.ended_by(at), again.begun_by(at)) == (
        curve.total,
        curve.ended_by(at),
        curve.begun_by(at),
    )


def test_usage_whose_minute_is_not_known_yet_is_newest_for_low_ends() -> None:
    """A total ahead of its minutes must not raise C(t - D), and may be older than any high end's instant."""
    curve = curve_of({0: 10})
    curve.count(110, START + 30 * MINUTE)
    assert curve.total == 110
    assert curve.ended_by(START + 30 * MINUTE) == 10
    assert curve.begun_by(START) == 110
    curve.set(START // MINUTE + 2, 100)
    curve.count(110, START + 31 * MINUTE)
    assert (curve.total, curve.ended_by(START + 3 * MINUTE), curve.begun_by(START)) == (110, 110, 10)


def test_usage_that_comes_after_its_minute_was_folded_is_not_lost() -> None:
    """It is placed where it was noticed: not before for low ends, everywhere for high ends."""
    curve = curve_of({0: 10})
    curve.fold(START + 12 * HOUR)
    curve.set(START // MINUTE, 25)
    curve.count(25, START + 12 * HOUR)
    assert curve.total == 25
    assert curve.ended_by(START + 12 * HOUR) == 10
    assert curve.ended_by(START + 13 * HOUR) == 25
    curve.fold(START + DAY + 12 * HOUR)
    assert (curve.total, curve.late) == (25, 15)


def test_usage_of_long_ago_has_ended_long_ago() -> None:
    """A model idle for days is known to be idle, though its minutes and hours are folded away."""
    curve = curve_of({0: 10})
    curve.fold(START + 5 * DAY)
    assert curve.ended_by(START + 5 * DAY - 13 * HOUR) == 10
    assert curve.ended_by(START) == 0


def test_a_seed_is_older_than_every_minute() -> None:
    """What a gateway had counted before metering began is part of C at any instant."""
    curve = curve_of({5: 10})
    curve.seed = 1_000
    assert (curve.total, curve.ended_by(START), curve.begun_by(START)) == (1_010, 1_000, 1_000)


def test_the_instant_a_level_was_reached_is_found_within_its_minute() -> None:
    """Inverting C gives the lag in seconds; halfway through a minute's tokens is halfway through the minute."""
    curve = curve_of({0: 100, 3: 200})
    assert curve.reached(100) == START + MINUTE
    assert curve.reached(200) == START + 3 * MINUTE + MINUTE // 2
    assert curve.reached(301) is None
    assert curve.reached(0) is None
