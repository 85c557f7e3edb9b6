"""Thresholds: each share of a limit is announced once per window and grant."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.alerts import Alert, Kind, Severity, alert_id
from rules.thresholds import WINDOWS_KEPT, Raised, Standing, newly_left, newly_reached, reached

SHARES = (0.8, 1.0)


def at(used: int | None, limit: int | None = 20, window: str = "2026-08-13", grant: int = 0) -> Standing:
    """A tenant's standing, with the numbers that matter here."""
    return Standing(scope="tenant:acme", window=window, at=1_786_000_000_000, used=used, limit=limit, grant=grant)


def fold(standings: list[Standing], shares: tuple[float, ...] = SHARES, raised: Raised | None = None) -> list[Alert]:
    """All alerts of a story, with the state going through JSON after every step, as over a restart."""
    raised = raised or Raised()
    alerts: list[Alert] = []
    for standing in standings:
        fresh, raised = newly_reached(standing, shares, raised)
        raised = msgspec.json.decode(msgspec.json.encode(raised), type=Raised)
        alerts += fresh
    return alerts


def test_fifty_events_beyond_a_limit_are_two_alerts() -> None:
    """A limit of 20 and 50 events beyond it: one alert at 80 %, one at 100 %, whatever follows."""
    alerts = fold([at(used) for used in range(1, 71)])
    assert [(a.threshold, a.used) for a in alerts] == [(0.8, 16), (1.0, 20)]


def test_each_window_is_announced_again() -> None:
    """Cross, window reset, cross again, restart, cross: three alerts."""
    days = ["2026-08-13", "2026-08-14", "2026-08-15"]
    story = [at(used, window=day) for day in days for used in (0, 19, 25, 25)]
    assert [a.window for a in fold(story, (1.0,))] == days


def test_several_thresholds_each_fire_once() -> None:
    """Thresholds 0.8, 0.85 and 0.95 fire once each in a window, lowest first."""
    alerts = fold([at(used, 1000) for used in (799, 800, 849, 850, 851, 950, 2000)], (0.95, 0.8, 0.85))
    assert [(a.threshold, a.used) for a in alerts] == [(0.8, 800), (0.85, 850), (0.95, 950)]


def test_one_event_may_jump_over_both() -> None:
    """From 70 % to 130 % in one event: both thresholds are reported, the lower one first."""
    alerts = fold([at(70, 100), at(130, 100)])
    assert [a.threshold for a in alerts] == [0.8, 1.0]


def test_usage_equal_to_the_limit_reaches_it() -> None:
    """100 % means `used` equals the limit; one token less does not reach it."""
    assert not reached(2_232_177, 2_232_178, 1.0)
    assert reached(2_232_178, 2_232_178, 1.0)


@pytest.mark.parametrize(("used", "limit"), [(10, None), (None, 10), (None, None)])
def test_nothing_fires_while_a_number_is_unknown(used: int | None, limit: int | None) -> None:
    """Unknown is not zero: without a limit or a count no share is reached and nothing is remembered."""
    assert newly_reached(at(used, limit), SHARES, Raised()) == ([], Raised())


def test_a_new_grant_opens_a_new_round() -> None:
    """A return or top-up gives the next grant number: what is reached then is announced again, with another id."""
    before, after = fold([at(20, 20), at(20, 25, grant=1), at(25, 25, grant=1)], (0.8,))
    assert (before.grant, after.grant) == (0, 1)
    assert before.id != after.id


def test_a_limit_that_wavers_is_announced_once() -> None:
    """A limit that falls and rises by inference, without a grant, opens no new round."""
    assert len(fold([at(16, limit) for limit in (20, 30, 20, 15, 30, 20)])) == 2


def test_late_usage_of_yesterday_is_still_remembered() -> None:
    """Yesterday and today alternate around midnight: each is announced once; a day before both stays silent."""
    days = ["2026-08-13", "2026-08-14", "2026-08-13", "2026-08-14", "2026-08-12"]
    assert [a.window for a in fold([at(25, window=day) for day in days], (1.0,))] == days[:2]


def test_the_alert_carries_what_a_reader_needs() -> None:
    """Id, kind, severity by threshold and the numbers behind it."""
    standing = msgspec.structs.replace(
        at(25), pool_low=30, charged_high=1, rule="quota", reason="spent", details={"wall": "quota"}
    )
    low, high = fold([standing])
    assert (low.severity, high.severity) == (Severity.WARNING, Severity.CRITICAL)
    assert high.id == alert_id("tenant:acme", "2026-08-13", "1.0", 0)
    assert (high.kind, high.used, high.limit, high.pool_low, high.charged_high) == (Kind.THRESHOLD, 25, 20, 30, 1)
    assert (high.rule, high.reason, high.details) == ("quota", "spent", {"wall": "quota"})


def test_one_and_one_point_zero_are_the_same_threshold() -> None:
    """A policy that says 1 and later 1.0 announces once."""
    fresh, raised = newly_reached(at(25), (1,), Raised())
    assert len(fresh) == 1
    assert newly_reached(at(25), (1.0,), raised)[0] == []


@given(st.integers(0, 10**18), st.integers(-(10**6), 10**18), st.decimals("0.01", "2", places=4))
def test_shares_are_exact(used: int, limit: int, share: Decimal) -> None:
    """The comparison is that of the decimal the operator wrote, however large the numbers."""
    assert reached(used, limit, float(share)) == (Fraction(used) >= Fraction(str(float(share))) * limit)


@pytest.mark.parametrize(("used", "limit", "share"), [(55, 100, 0.55), (3, 30, 0.1), (1_400_000, 2_000_000, 0.7)])
def test_a_share_is_the_decimal_as_written(used: int, limit: int, share: float) -> None:
    """55 of 100 is 0.55 of it, although 0.55 * 100 is a little more than 55 in binary."""
    assert reached(used, limit, share)
    assert not reached(used - 1, limit, share)


def test_an_older_grant_is_silent() -> None:
    """A replay that still says the former grant number neither fires nor makes the present one fire again."""
    story = [at(20, grant=2), at(20, grant=1), at(20, grant=2)]
    assert [a.grant for a in fold(story, (1.0,))] == [2]


WINDOWS = st.sampled_from(["2026-08-12", "2026-08-13", "2026-08-14", "2026-08-15"])
STANDINGS = st.builds(
    at, st.sampled_from([None, 0, 17, 25]), st.sampled_from([None, 20, 30]), WINDOWS, st.integers(0, 2)
)


@given(st.lists(STANDINGS, max_size=60), st.lists(st.sampled_from([0.5, 0.8, 0.95, 1.0]), min_size=1, max_size=4))
def test_never_twice_for_the_same_window_threshold_and_grant(story: list[Standing], shares: list[float]) -> None:
    """Whatever the order of events, an id is raised at most once, and only if that share was reached."""
    alerts = fold(story, tuple(shares))
    assert len({a.id for a in alerts}) == len(alerts)
    assert all(reached(a.used, a.limit, a.threshold or 0) for a in alerts)


@given(st.lists(STANDINGS, max_size=60))
def test_what_is_remembered_stays_small(story: list[Standing]) -> None:
    """No more than the two newest windows are kept, and of what is over one entry per threshold."""
    raised = Raised()
    for standing in story:
        _, raised = newly_left(standing, raised)
        _, raised = newly_reached(standing, SHARES, raised)
        assert len(raised.windows) <= WINDOWS_KEPT
        assert len(raised.over) <= len(SHARES)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40))
def test_every_share_reached_is_announced(steps: list[int]) -> None:
    """In one window of one grant, exactly the shares that the usage ever reached are announced."""
    used = [sum(steps[: n + 1]) for n in range(len(steps))]
    found = {a.threshold for a in fold([at(u, 1000) for u in used])}
    assert found == {share for share in SHARES if reached(used[-1], 1000, share)}
