"""The day's account in the course of days: with every entry of the history, and from one evening to the next."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from rules.account import Account
from rules.calendar import Calendar
from rules.moment import DAY, HOUR, MINUTE
from rules.records import Package
from tests.rules.story import Story

NIGHT = Calendar().start("2026-08-12")


@pytest.fixture
def story() -> Story:
    return Story(since=NIGHT)


def busy_day(story: Story, *, restart: bool) -> Iterator[Account]:
    """1,000,000 at first; 240,000 used by hours; they come back the next day at 09:00; 30,000 used by then."""
    story.read(NIGHT + HOUR, 1_000_000)
    yield story.account(NIGHT + HOUR)
    for hour in range(8, 20):
        story.use(NIGHT + hour * HOUR, 20_000)
    story.read(NIGHT + 23 * HOUR, 760_000)
    yield story.account(NIGHT + 23 * HOUR)
    story.rule(NIGHT + DAY - 1)
    if restart:
        story.start()
    yield story.account(NIGHT + DAY)
    if restart:
        story.start()
    story.use(NIGHT + DAY + 8 * HOUR, 30_000)
    story.read(NIGHT + DAY + 9 * HOUR, 970_000)
    yield story.account(NIGHT + DAY + 9 * HOUR)


@pytest.mark.parametrize("restart", [False, True])
def test_a_day_begins_with_what_the_evening_left(story: Story, restart: bool) -> None:
    """Whoever holds the books by then; and after the return they still meet."""
    _, evening, morning, later = busy_day(story, restart=restart)
    assert evening.ledger is not None
    assert (evening.ledger.used, evening.ledger.closing) == (240_000, (759_850, 760_150))
    for account in (morning, later):
        assert account.ledger is not None
        assert account.ledger.carried == evening.ledger.closing
        assert account.ledger.meets
        assert evening.ledger.closing.low <= account.ledger.opening.low <= 760_000 <= account.ledger.opening.high
    assert later.ledger is not None
    assert later.ledger.used == 30_000
    assert later.ledger.returns.low <= 240_000 <= later.ledger.returns.high
    assert later.ledger.closing.low <= 970_000 <= later.ledger.closing.high


def test_yesterdays_usage_is_expected_back(story: Story) -> None:
    """From the change of the day on, until it came."""
    *_, morning, later = busy_day(story, restart=False)
    assert (morning.outlook.expected_return, morning.outlook.returned) == (240_000, 0)
    assert later.outlook.returned >= 240_000


def test_usage_of_yesterday_that_comes_late_lowers_what_the_evening_left(story: Story) -> None:
    """50,000 of 23:58 arrive at 00:01: the opening was less than the evening thought, and both still meet."""
    *_, morning = islice(busy_day(story, restart=False), 3)
    story.use(NIGHT + DAY - 2 * MINUTE, 50_000)
    after = story.account(NIGHT + DAY + MINUTE)
    assert morning.ledger is not None
    assert after.ledger is not None
    assert after.ledger.carried == (709_850, 710_150)
    assert after.ledger.meets
    assert after.ledger.opening.low <= 710_000 <= after.ledger.opening.high


def test_what_vanished_overnight_is_unexplained(story: Story) -> None:
    """160,000 less in the morning, and no usage: booked as unexplained."""
    list(islice(busy_day(story, restart=False), 3))
    story.read(NIGHT + DAY + 10 * HOUR, 600_000)
    ledger = story.account(NIGHT + DAY + 10 * HOUR).ledger
    assert ledger is not None
    assert ledger.unexplained.low <= 160_000 <= ledger.unexplained.high
    assert ledger.closing.low <= 600_000 <= ledger.closing.high


def test_a_step_of_usage_alone_comes_without_an_account(story: Story) -> None:
    """It is computed for the history, not for each event."""
    list(busy_day(story, restart=False))
    now = NIGHT + DAY + 9 * HOUR + 5 * MINUTE
    story.use(now, 5)
    story.account(now)
    story.use(now, 5)
    (step,) = story.rule(now + 1_000)
    assert (step.history, step.account) == (False, None)


def test_an_unknown_pool_has_no_ledger_but_expectations(story: Story) -> None:
    """Before the first reading nothing is booked."""
    story.use(NIGHT + HOUR, 5)
    account = story.account(NIGHT + HOUR)
    assert account.ledger is None
    assert account.outlook.runs_out_at is None


def test_a_gap_of_days_carries_nothing(story: Story) -> None:
    """What an evening left is the opening of the next day, and of no other."""
    list(busy_day(story, restart=False))
    story.read(NIGHT + 4 * DAY, 970_000)
    ledger = story.account(NIGHT + 4 * DAY).ledger
    assert ledger is not None
    assert ledger.carried is None


def test_packages_that_end_before_they_are_used_up_are_foreseen(story: Story) -> None:
    """600,000 that end in ten days, at 10,000 a day."""
    package = Package(
        id="p", total=600_000, available=600_000, effective=NIGHT - 20 * DAY, expires=NIGHT + 10 * DAY + HOUR
    )
    story.use(NIGHT, 10_000)
    story.read(NIGHT + 23 * HOUR, 600_000, package)
    ahead = story.account(NIGHT + 23 * HOUR).outlook
    assert [unused.id for unused in ahead.will_expire] == ["p"]
    assert 490_000 <= ahead.will_expire[0].tokens <= 520_000
    assert 60_000 <= ahead.needed_per_day <= 68_000
