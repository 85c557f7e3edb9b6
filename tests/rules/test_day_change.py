"""The day as it is enforced: it ends in its own zone, by itself, and a state from before knows no less."""

from __future__ import annotations

from datetime import datetime

import pytest

from rules.moment import DAY, HOUR, MINUTE, Millis, from_datetime
from rules.policy import Policy
from tests.rules.story import SCOPE, Story


def at(text: str) -> Millis:
    return from_datetime(datetime.fromisoformat(text))


def capped(zone: str, offset: str) -> Story:
    """A pool of 3,000,000 of which the whole cap of 2,000,000 is used by 21:30."""
    begin = at(f"2026-08-13T12:00:00{offset}")
    story = Story(begin, Policy(timezone=zone))
    story.read(at(f"2026-08-13T20:00:00{offset}"), 3_000_000)
    story.rule(at(f"2026-08-13T20:00:01{offset}"))
    story.use(at(f"2026-08-13T21:30:00{offset}"), 2_000_000)
    return story


@pytest.mark.parametrize(("zone", "offset"), [("Asia/Shanghai", "+08:00"), ("Asia/Tokyo", "+09:00"), ("UTC", "+00:00")])
def test_a_cap_reached_in_the_evening_opens_at_local_midnight(zone: str, offset: str) -> None:
    """Blocked at 21:30, told to end at 00:00, open at 00:00 with nothing used: not hours late, and without traffic."""
    story, midnight = capped(zone, offset), at(f"2026-08-14T00:00:00{offset}")
    blocked = story.ruling(at(f"2026-08-13T21:30:01{offset}"))
    assert (blocked.action, blocked.wall, blocked.until) == ("block", "cap", midnight)
    story.read(midnight - 10 * MINUTE, 1_000_000)
    assert story.ruling(midnight - 1).action == "block"
    opened = story.ruling(midnight)
    assert (opened.action, opened.day, opened.used) == ("allow", "2026-08-14", 0)


def test_a_model_blocked_yesterday_is_open_before_its_first_call() -> None:
    """No traffic for 25 hours, only readings: the decision is there before anybody asks."""
    story = capped("Asia/Shanghai", "+08:00")
    began = at("2026-08-13T22:00:00+08:00")
    assert story.ruling(began).action == "block"
    for hour in range(26):
        story.read(began + hour * HOUR, 1_000_000)
        story.rule(began + hour * HOUR + MINUTE)
    opened = story.ruling(began + 25 * HOUR + 2 * MINUTE)
    assert (opened.action, opened.used) == ("allow", 0)


def test_it_is_open_though_the_worker_was_down_at_midnight() -> None:
    """Another owner in the morning rules from what was stored."""
    story = capped("Asia/Shanghai", "+08:00")
    assert story.ruling(at("2026-08-13T22:00:00+08:00")).action == "block"
    story.start()
    story.read(at("2026-08-14T06:00:00+08:00"), 1_000_000)
    assert story.ruling(at("2026-08-14T06:00:01+08:00")).action == "allow"


@pytest.mark.parametrize("missing", ["born", "evening", "closed_before", "last", "folded", "announced", "carried"])
def test_a_state_without_an_anchor_keeps_what_was_used(missing: str) -> None:
    """A row of an older version, or one that lost a field, zeroes nothing and opens nothing."""
    story = capped("Asia/Shanghai", "+08:00")
    now = at("2026-08-13T21:45:00+08:00")
    before = story.ruling(now)
    del story.rows[f"book|{SCOPE}"][missing]
    story.start()
    after = story.ruling(now + 1)
    assert (
        (after.action, after.used, after.limit)
        == (before.action, before.used, before.limit)
        == ("block", 2_000_000, 2_000_000)
    )
    assert (after.pool_low, after.pool_high) == (before.pool_low, before.pool_high)


@pytest.mark.parametrize(
    ("begins", "hours"),
    [("2026-03-29T00:00:00+01:00", 23), ("2026-10-25T00:00:00+02:00", 25), ("2026-06-01T00:00:00+02:00", 24)],
)
def test_where_the_clocks_change_a_day_has_its_own_length(begins: str, hours: int) -> None:
    """Amsterdam: a limit of that day holds for 23, 25 or 24 hours, to the millisecond."""
    start = at(begins)
    story = Story(start - DAY, Policy(timezone="Europe/Amsterdam"))
    story.read(start + HOUR, 3_000_000)
    story.use(start + HOUR, 5)
    end = start + hours * HOUR
    assert story.ruling(start + HOUR).until == end
    assert (story.ruling(end - 1).used, story.ruling(end).used) == (5, 0)


def test_the_policys_start_of_the_day_is_enforced() -> None:
    """A day that starts at 17:00: usage of 16:59 is yesterday's a minute later."""
    start = at("2026-08-13T17:00:00+08:00")
    story = Story(start - DAY, Policy(day_starts="17:00"))
    story.read(start - HOUR, 3_000_000)
    story.use(start - MINUTE, 7)
    before, after = story.ruling(start - 1), story.ruling(start)
    assert (before.day, before.used, before.until) == ("2026-08-12", 7, start)
    assert (after.day, after.used, after.until) == ("2026-08-13", 0, start + DAY)
