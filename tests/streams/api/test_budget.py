"""What is left of a tenant's budget, as its decision tells it."""

from __future__ import annotations

from blastdoor_gateway.contract import Action, Decision

from rules.policy import Budget, Policy
from streams.api.budget import as_budget
from streams.decision import to_decision
from tests.rules.tenants.story import Story


def windows(decision: Decision, today: str = "2026-08-13") -> dict[str, tuple[object, ...]]:
    """Name, used, limit and what is left, by window."""
    found = as_budget("acme", decision, today)["windows"]
    return {each["window"]: (each["name"], each["used"], each["limit"], each["left"]) for each in found}


def test_both_windows_are_told() -> None:
    """A ruling's decision has the day's and the month's budget, whichever has the least left."""
    story = Story(Policy(tenant_default=Budget(daily_tokens=1_000, monthly_tokens=1_500)))
    story.use("2026-08-12 10:00", 900)
    ruling = story.use("2026-08-13 10:00", 700)
    assert ruling is not None
    stored = Decision.from_hash(to_decision(ruling, (1, 1), story.calendar.zone).to_hash())
    assert windows(stored) == {
        "day": ("2026-08-13", 700, 1_000, 300),
        "month": ("2026-08", 1_600, 1_500, -100),
    }


def test_no_limit_is_null() -> None:
    """Without a monthly budget there is none left and none used up."""
    ruling = Story().use("2026-08-13 10:00", 700)
    assert ruling is not None
    decision = to_decision(ruling, (1, 1), Policy().calendar().zone)
    assert windows(decision)["month"] == ("2026-08", 700, None, None)


def test_a_tenant_that_rests() -> None:
    """The windows are those of the day that was decided about, and the answer says which day it is now."""
    ruling = Story().use("2026-08-13 10:00", 700)
    assert ruling is not None
    found = as_budget("acme", to_decision(ruling, (1, 1), Policy().calendar().zone), "2026-09-01")
    assert (found["today"], found["day"]) == ("2026-09-01", "2026-08-13")


def test_an_older_decision_tells_nothing() -> None:
    """A decision that an engine without windows wrote shows no numbers, not zeros."""
    old = Decision(
        scope="tenant:acme", action=Action.ALLOW, rule="r", reason="", day="2026-08-13", decided_at="", version=(1, 1)
    )
    assert windows(old) == {"day": ("2026-08-13", None, None, None), "month": ("2026-08", None, None, None)}
