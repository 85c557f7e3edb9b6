"""Balances that fail, are foreign, come late or not at all: unknown is never zero, and no failure blocks by itself."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.calendar import Calendar
from rules.facts import Heard, Partial, Sums, Watermark
from rules.intake.reader import Intake
from rules.judge import Judge
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Policy
from rules.records import Calibration, Reading, Rejected
from streams.policy_file import default_rulebook
from tests.rules.story import Story

NIGHT = Calendar().start("2026-08-13")
MORNING = NIGHT + 9 * HOUR
FAILED: list[Any] = [
    {},
    {"code": 401, "message": "unauthorized"},
    {"code": 429, "message": "too many requests"},
    {"ResponseMetadata": {"Error": {"Code": "AccessDenied"}}},
    {"type": "balance"},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m"},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m", "available": None},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m", "available": "timeout"},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m", "available": 12.5},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m", "available": 7, "unit": "CNY"},
    {"type": "balance", "id": "b", "ts": MORNING / 1000, "model": "m", "available": 7, "unit": "points"},
]


@pytest.fixture
def story() -> Story:
    """Half a million left at nine, everything settled."""
    found = Story(since=NIGHT)
    found.use(MORNING - 2 * HOUR, 1_000)
    found.read(MORNING, 500_000)
    return found


@pytest.mark.parametrize("body", FAILED, ids=lambda body: json.dumps(body)[-40:])
def test_a_failed_answer_is_no_reading(body: Any) -> None:
    """Refused with a reason, whatever was sent in its place: there is no zero to believe."""
    assert isinstance(Intake(ZoneInfo("Asia/Shanghai")).read(json.dumps(body).encode()), Rejected)


def test_failing_polls_change_nothing_until_the_last_reading_is_too_old(story: Story) -> None:
    """401, 429 and timeouts for hours: the limit stands, then it is unknown; never a block, never zero."""
    before = story.ruling(MORNING + MINUTE)
    assert (before.action, before.limit) == ("allow", 490_850)
    for minutes in range(10, 120, 10):
        now = story.ruling(MORNING + minutes * MINUTE)
        assert (now.action, now.limit, now.bounds.balance) == ("allow", before.limit, 500_000)
    after = story.ruling(MORNING + 2 * HOUR + MINUTE)
    assert (after.action, after.limit, after.pool_low) == ("unknown", None, None)


def test_a_list_that_came_empty_is_no_reading(story: Story) -> None:
    """A token without the right to list packages lists none: that is not an empty pool."""
    before = story.ruling(MORNING + MINUTE)
    story.hear(Reading(id="empty", at=MORNING + 10 * MINUTE, model="m", available=0, source="api", packages=()))
    after = story.ruling(MORNING + 11 * MINUTE)
    assert (after.action, after.limit, after.bounds.latest) == (before.action, before.limit, before.bounds.latest)


def test_of_five_models_the_two_that_fail_are_unknown_and_the_others_known() -> None:
    """No number of one stands in for another, and no sum hides that two are missing."""
    judge = Judge(Policy(), default_rulebook(Policy()), usage_partitions=1)
    for number in range(5):
        judge.apply(Partial(f"model:m{number}", 0, "2026-08-13", 0, number, Sums(tokens=10)))
        if number >= 2:
            reading = Reading(id=f"r{number}", at=MORNING, model=f"m{number}", available=100_000 * number)
            judge.apply(Heard(f"model:m{number}", reading, f"b/0/{number}"))
    judge.apply(Watermark("usage", 0, 0, 9, MORNING, NIGHT))
    judge.rule(MORNING, every=True)
    rulings = [judge.ruling(f"model:m{number}") for number in range(5)]
    assert [ruling.action for ruling in rulings if ruling] == ["unknown"] * 2 + ["allow"] * 3
    assert [ruling.limit for ruling in rulings[:2] if ruling] == [None, None]
    assert [ruling.bounds.balance for ruling in rulings if ruling] == [None, None, 200_000, 300_000, 400_000]


def test_a_package_entered_by_hand_is_moved_by_usage_alone() -> None:
    """No balance interface: the operator's figure stands over two days, and every event counts against it."""
    story = Story(since=NIGHT)
    told = Calibration(id="c", at=MORNING, model="m", day="2026-08-13", pool=800_000, force=True, by="lin")
    story.hear(told)
    assert story.ruling(MORNING).limit == 790_000
    story.use(MORNING + HOUR, 300_000)
    used = story.ruling(MORNING + 2 * HOUR)
    assert (used.action, used.limit, used.used) == ("allow", 790_000, 300_000)
    tomorrow = story.ruling(MORNING + DAY)
    assert (tomorrow.action, tomorrow.limit, tomorrow.used) == ("allow", 490_000, 0)
    story.use(MORNING + DAY + MINUTE, 490_000)
    assert story.ruling(MORNING + DAY + 2 * MINUTE).action == "block"


def test_the_limit_acts_before_the_providers_own_stop(story: Story) -> None:
    """50,000 a minute, and the provider has settled nothing yet: its balance still says half a million when we stop."""
    minute = 0
    while story.ruling(MORNING + minute * MINUTE + 30_000).action in {"allow", "warn"}:
        minute += 1
        story.use(MORNING + minute * MINUTE, 50_000)
        story.read(MORNING + minute * MINUTE + 1_000, 500_000)
    stopped = story.ruling(MORNING + minute * MINUTE + 31_000)
    assert (stopped.action, stopped.rule, stopped.bounds.balance) == ("block", "model-pool-spent", 500_000)
    assert stopped.used <= 501_000
    assert stopped.bounds.charged_low == 0
