"""Budgets by day and month: windows of the calendar, top-ups that count once, and alerts once for each."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rules.facts import Heard
from rules.moment import HOUR, MINUTE
from rules.policy import Budget, Mode, Policy, RuleSpec
from rules.records import Control, ControlAction
from rules.ruling import Ruling
from streams.decision import to_decision
from streams.policy_file import default_rulebook
from tests.rules.tenants.story import Story

TOPUP, QUOTA = ControlAction.TOPUP, ControlAction.SET_QUOTA


def told(ruling: Ruling | None) -> tuple[str, str, int | None, int]:
    """What a ruling comes down to."""
    assert ruling is not None
    return ruling.action, ruling.wall, ruling.limit, ruling.used


def budget(**given: object) -> Policy:
    return Policy(tenant_default=Budget(**given))  # type: ignore[arg-type]


def test_the_last_token_is_admitted() -> None:
    """A gate admits while counted + asked <= ceiling: one token below the limit is left for one more call."""
    story = Story()
    ruling = story.use("2026-08-13 10:00", 999)
    assert told(ruling) == ("warn", "day", 1_000, 999)
    assert ruling is not None
    decision = to_decision(ruling, (1, 1), story.calendar.zone)
    assert (decision.counted, decision.ceiling) == (999, 1_000)
    assert told(story.use("2026-08-13 10:01", 1)) == ("degrade", "day", 1_000, 1_000)


def test_alerts_once_for_each_threshold() -> None:
    """80 % and 100 % are told once a window, however far beyond and through a restart; again in the next."""
    story = Story()
    for minute in range(20):
        story.use(f"2026-08-13 10:{minute:02}", 100)
        story.restart()
    assert story.thresholds() == [("2026-08-13", 0.8), ("2026-08-13", 1.0)]
    story.use("2026-08-14 10:00", 1_000)
    assert story.thresholds()[2:] == [("2026-08-14", 0.8), ("2026-08-14", 1.0)]


def test_a_day_ends_without_traffic() -> None:
    """Blocked by the day's budget and silent for 25 h, a tenant may call again: the new day starts at 0."""
    story = Story()
    assert told(story.use("2026-08-13 21:30", 1_000))[0] == "degrade"
    assert told(story.tick("2026-08-13 23:59:59"))[0] == "degrade"
    assert told(story.tick("2026-08-14 00:00")) == ("allow", "day", 1_000, 0)
    assert told(story.tick("2026-08-14 22:30"))[0] == "allow"


@pytest.mark.parametrize(
    ("zone", "starts", "last", "first", "hours"),
    [
        ("Asia/Shanghai", "00:00", "2026-08-13 23:59:59", "2026-08-14 00:00", 24),
        ("Asia/Tokyo", "00:00", "2026-08-13 23:59:59", "2026-08-14 00:00", 24),
        ("Asia/Shanghai", "17:00", "2026-08-13 16:59:59", "2026-08-13 17:00", 24),
        ("Europe/Amsterdam", "00:00", "2026-03-29 23:59:59", "2026-03-30 00:00", 23),
        ("Europe/Amsterdam", "00:00", "2026-10-25 23:59:59", "2026-10-26 00:00", 25),
    ],
)
def test_days_are_those_of_the_zone(zone: str, starts: str, last: str, first: str, hours: int) -> None:
    """The configured zone and start move the boundary; days of clock changes have 23 and 25 hours."""
    story = Story(Policy(timezone=zone, day_starts=starts, tenant_default=Budget(daily_tokens=10)))
    assert told(story.use(last, 10))[0] == "degrade"
    ruling = story.judge.ruling("tenant:acme")
    assert ruling is not None
    assert ruling.until == story.at(first)
    assert story.calendar.end(ruling.day) - story.calendar.start(ruling.day) == hours * HOUR
    assert told(story.tick(first)) == ("allow", "day", 10, 0)


@pytest.mark.parametrize(
    ("begin", "end", "after"),
    [
        ("2026-01-31 12:00", "2026-01-31 23:59", "2026-02-01 00:00"),
        ("2026-02-01 00:00", "2026-02-28 23:59", "2026-03-01 00:00"),
        ("2028-02-29 12:00", "2028-02-29 23:59", "2028-03-01 00:00"),
        ("2026-12-31 12:00", "2026-12-31 23:59", "2027-01-01 00:00"),
    ],
)
def test_months_are_those_of_the_calendar(begin: str, end: str, after: str) -> None:
    """A month is neither 30 days nor the same date: from 31 January, through February, over a year's end."""
    story = Story(budget(monthly_tokens=100))
    assert told(story.use(begin, 60)) == ("allow", "month", 100, 60)
    ruling = story.use(end, 40)
    assert told(ruling) == ("degrade", "month", 100, 100)
    assert ruling is not None
    assert ruling.until == story.at(after)
    assert told(story.tick(after)) == ("allow", "month", 100, 0)


def test_a_month_of_days_that_start_in_the_evening() -> None:
    """Where days start at 17:00 the month changes with the first of its days, at 17:00."""
    story = Story(Policy(day_starts="17:00", tenant_default=Budget(monthly_tokens=100)))
    assert told(story.use("2026-09-01 16:59", 100))[0] == "degrade"
    assert told(story.tick("2026-09-01 17:00")) == ("allow", "month", 100, 0)


def test_a_month_outlives_its_rows() -> None:
    """Days closed long ago still count in their month, through restarts, though their rows are gone."""
    story = Story(budget(monthly_tokens=310, daily_tokens=50))
    for day in range(1, 31):
        story.use(f"2026-08-{day:02} 12:00", 10)
        story.restart()
    assert not any(key.startswith("tally|0|2026-08-01") for key in story.rows)
    ruling = story.use("2026-08-31 12:00", 9)
    assert told(ruling) == ("warn", "month", 310, 309)
    assert ruling is not None
    assert ruling.used + ruling.base == 309
    assert told(story.tick("2026-09-01 00:00")) == ("allow", "day", 50, 0)


def test_the_window_with_the_least_left_rules() -> None:
    """Day and month bind together; the decision's ceiling is the nearer one, in one counter."""
    story = Story(budget(daily_tokens=100, monthly_tokens=150))
    assert told(story.use("2026-08-13 10:00", 90)) == ("warn", "day", 100, 90)
    ruling = story.use("2026-08-14 10:00", 10)
    assert told(ruling) == ("allow", "month", 150, 100)
    assert ruling is not None
    assert ruling.used + ruling.base == 100


@pytest.mark.parametrize("over", ["degrade", "block", "warn"])
def test_over_is_what_the_policy_says(over: str) -> None:
    """Beyond its budget a tenant is degraded, blocked or told of; a budget that only warns gives gates no ceiling."""
    story = Story(budget(daily_tokens=100, over=over))
    ruling = story.use("2026-08-13 10:00", 150)
    assert told(ruling)[0] == over
    assert ruling is not None
    assert to_decision(ruling, (1, 1), story.calendar.zone).ceiling == (None if over == "warn" else 100)


def test_a_topup_counts_once() -> None:
    """An order heard again changes nothing; it opens a new round of alerts and ends with its window."""
    story = Story()
    story.use("2026-08-13 10:00", 1_000)
    order = story.order("2026-08-13 10:01", TOPUP, 500)
    assert told(story.tick("2026-08-13 10:01")) == ("allow", "day", 1_500, 1_000)
    story.restart()
    story.hear(order)
    assert told(story.tick("2026-08-13 10:02")) == ("allow", "day", 1_500, 1_000)
    assert [alert.kind.value for alert in story.alerts] == ["threshold", "threshold", "recovered"]
    story.use("2026-08-13 11:30", 500)
    assert [alert.grant for alert in story.alerts if alert.kind.value == "threshold"] == [0, 0, 1, 1]
    assert told(story.tick("2026-08-14 00:00")) == ("allow", "day", 1_000, 0)


def test_a_pack_lasts_until_it_is_used_or_ends() -> None:
    """A top-up with an end is used up by what goes beyond the budget, day after day, and is gone when it ends."""
    story = Story()
    story.order("2026-08-13 09:00", TOPUP, 500, until="2026-08-16 12:00")
    assert told(story.use("2026-08-13 10:00", 1_200)) == ("warn", "day", 1_500, 1_200)
    assert told(story.use("2026-08-14 10:00", 100)) == ("allow", "day", 1_300, 100)
    assert told(story.use("2026-08-15 10:00", 1_100)) == ("warn", "day", 1_300, 1_100)
    assert told(story.tick("2026-08-16 11:59"))[2] == 1_200
    assert told(story.tick("2026-08-16 12:00"))[2] == 1_000


def test_a_quota_takes_the_place_of_the_policy() -> None:
    """The newest daily budget in force counts, until its end; one that arrives late is not the newest."""
    story = Story()
    story.order("2026-08-13 09:00", QUOTA, 200, until="2026-08-14 12:00")
    assert told(story.use("2026-08-13 10:00", 200))[:3] == ("degrade", "day", 200)
    story.order("2026-08-13 08:00", QUOTA, 900)
    assert told(story.tick("2026-08-13 10:01"))[2] == 200
    assert told(story.tick("2026-08-14 12:00"))[2] == 900


def test_a_quota_from_a_fast_clock_begins_by_itself() -> None:
    """Nobody calls, and it is looked at when its own time comes."""
    story = Story(budget(daily_tokens=100))
    story.use("2026-08-13 10:00", 60)
    story.order("2026-08-13 10:05", ControlAction.SET_QUOTA, 50)
    assert told(story.tick("2026-08-13 10:01"))[2] == 100
    assert told(story.tick("2026-08-13 10:05")) == ("degrade", "day", 50, 60)


def test_nothing_is_held_against_tenants_without_a_budget() -> None:
    """No budget is no limit, never zero; a budget of zero refuses the first token."""
    story = Story(Policy())
    ruling = story.use("2026-08-13 10:00", 10**9)
    assert ruling is not None
    assert (ruling.action, ruling.limit) == ("allow", None)
    assert told(Story(budget(daily_tokens=0)).use("2026-08-13 10:00", 1))[0] == "degrade"


def test_a_tenant_is_closed_and_opened() -> None:
    """An operator's kill holds through day changes and restarts until resume."""
    story = Story(Policy())
    story.use("2026-08-13 10:00", 1)
    story.order("2026-08-13 10:01", ControlAction.KILL)
    story.tick("2026-08-13 10:01")
    story.restart()
    ruling = story.tick("2026-08-15 10:01")
    assert ruling is not None
    assert (ruling.action, ruling.until) == ("kill", None)
    story.order("2026-08-15 10:02", ControlAction.RESUME)
    assert told(story.tick("2026-08-15 10:02"))[0] == "allow"


def test_rows_of_an_older_version_keep_their_sums() -> None:
    """A stored row without the newer fields resets nothing: what was used stays used."""
    story = Story(budget(monthly_tokens=100))
    story.use("2026-08-13 10:00", 100)
    row = story.rows["book|tenant:acme"]
    story.rows["book|tenant:acme"] = {name: row[name] for name in ("born", "carried", "closed_before")}
    story.restart()
    assert told(story.tick("2026-08-13 10:01")) == ("degrade", "month", 100, 100)


def test_observing_binds_nobody() -> None:
    """In `observe` the ruling says what it would have done."""
    story = Story(Policy(mode=Mode.OBSERVE, tenant_default=Budget(daily_tokens=1)))
    ruling = story.use("2026-08-13 10:00", 2)
    assert ruling is not None
    assert (ruling.action, ruling.observed) == ("allow", True)
    assert "would be degrade" in ruling.reason


def test_the_day_is_closed_with_its_books() -> None:
    """Once all its usage has arrived, a tenant's day is told once for the digest."""
    story = Story()
    story.use("2026-08-13 10:00", 700)
    story.tick("2026-08-14 00:00:01")
    story.tick("2026-08-14 00:00:02")
    assert [(book.scope, book.day, book.used, book.requests) for book in story.closed] == [
        ("tenant:acme", "2026-08-13", 700, 1)
    ]


def test_both_windows_are_in_the_ruling() -> None:
    """Used and limit of day and month, whichever has the least left; an order that changes the other is told."""
    story = Story(budget(daily_tokens=1_000, monthly_tokens=500))
    ruling = story.use("2026-08-13 10:00", 100)
    assert ruling is not None
    assert ruling.windows == {"day_used": 100, "day_limit": 1_000, "month_used": 100, "month_limit": 500}
    story.order("2026-08-13 10:01", QUOTA, 2_000)
    (outcome,) = story.judge.rule(story.at("2026-08-13 10:01"))
    assert outcome.news
    assert outcome.ruling is not None
    assert told(outcome.ruling) == told(ruling)
    assert outcome.ruling.windows["day_limit"] == 2_000


def test_a_rule_waits_and_lasts_over_a_restart() -> None:
    """`for:` counts from when the condition held first, a ban from when it fired; both stand in the row."""
    rule = RuleSpec(
        name="greedy", scope="tenant", when="used > 100", action="block", says="too much", lasting=10 * MINUTE,
        ban_for=30 * MINUTE,
    )  # fmt: skip
    story = Story(replace(budget(daily_tokens=1_000), rules=(rule,)))
    assert told(story.use("2026-08-13 10:00", 101))[0] == "allow"
    story.restart()
    assert told(story.tick("2026-08-13 10:09:59"))[0] == "allow"
    banned = story.tick("2026-08-13 10:10")
    assert told(banned)[0] == "block"
    assert banned is not None
    assert (banned.rule, banned.until) == ("greedy", story.at("2026-08-13 10:40"))
    story.restart()
    assert told(story.tick("2026-08-13 10:39:59"))[0] == "block"


@given(
    orders=st.lists(st.tuples(st.sampled_from(["kill", "resume"]), st.integers(0, 90)), min_size=1, max_size=6),
    shuffled=st.randoms(use_true_random=False),
)
def test_orders_about_a_tenant_hold_as_for_anybody(orders: list[tuple[str, int]], shuffled: Random) -> None:
    """The latest by its own time counts, in whatever order they come and whatever is repeated: one switch for all
    kinds of scope."""
    judges = {"tenant:acme": Story().judge, "user:acme/u1": Story().judge}
    heard = [(f"{place}", kind, minute * MINUTE) for place, (kind, minute) in enumerate(orders)]
    heard += heard[:2]
    shuffled.shuffle(heard)
    for scope, judge in judges.items():
        for name, kind, at in heard:
            order = Control(
                id=name, at=at, action=ControlAction(kind), scope=scope, by="lin", why="x", until=at + 30 * MINUTE
            )
            judge.apply(Heard(scope, order, "controls/0/1"))
    for now in range(90 * MINUTE, 125 * MINUTE, 7 * MINUTE):
        for judge in judges.values():
            judge.rule(now, every=True)
        tenant, user = (judge.ruling(scope) for scope, judge in judges.items())
        assert tenant is not None
        assert user is not None
        assert (tenant.action == "kill") == (user.action == "kill")


def test_every_order_about_a_tenant_is_in_the_history() -> None:
    """With who, when and why, also one that changes nothing; a repeat is none. The decision tells its id."""
    story = Story(budget(daily_tokens=1_000))
    story.use("2026-08-13 10:00", 1)
    entries: list[Any] = []
    given = (ControlAction.TOPUP, 5), (ControlAction.RESUME, None), (ControlAction.KILL, None)
    for minute, (action, tokens) in enumerate(given, 1):
        order = story.order(f"2026-08-13 10:0{minute}", action, tokens, id=action.value, until="2026-08-13 12:00")
        story.hear(order)
        outcomes = [each for each in story.judge.rule(story.at("2026-08-13 10:05"), every=True) if each.history]
        entries += [msgspec.to_builtins(story.judge.grounds(outcome)) for outcome in outcomes]
        story.hear(order)
        assert not any(each.history for each in story.judge.rule(story.at("2026-08-13 10:06"), every=True))
    told_of = [order for entry in entries for order in entry["orders"]]
    assert [(each["id"], each["action"], each["by"], each["why"]) for each in told_of] == [
        (name, name, "lin", "asked for") for name in ("topup", "resume", "kill")
    ]
    ruling = story.tick("2026-08-13 10:07")
    assert ruling is not None
    assert (ruling.reason, ruling.orders) == ("tenant acme was closed by lin: asked for", ("topup", "resume", "kill"))
    assert told(story.tick("2026-08-13 12:00"))[0] == "allow"


def test_a_trial_is_in_the_history_and_binds_once_adopted() -> None:
    """`dry_run` of a rule about a tenant without a budget: told once, bound by the policy that drops the word, with
    what the rule remembered."""
    rule = RuleSpec(
        name="greedy", scope="tenant", when="used > 100", action="block", says="too much", lasting=10 * MINUTE,
        clear="used > 1000", dry_run=True,
    )  # fmt: skip
    story = Story(Policy(rules=(rule,)).hashed())
    story.use("2026-08-13 10:00", 101)
    now = story.at("2026-08-13 10:10")
    (outcome,) = story.judge.rule(now, every=True)
    assert (outcome.history, outcome.ruling.action) == (True, "allow")
    assert [would.action for would in outcome.ruling.would] == ["block"]
    bound = Policy(rules=(replace(rule, dry_run=False),)).hashed()
    story.judge.adopt(bound, default_rulebook(bound))
    (outcome,) = story.judge.rule(now + 1, every=True)
    assert (outcome.history, outcome.ruling.action, outcome.ruling.policy) == (True, "block", bound.hash)
