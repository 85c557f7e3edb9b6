"""What of a ruling people hear: stories of one model over days, its state through JSON at every step."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rules.alerts import Alert, Kind, Severity
from rules.announce import Announced, announce
from rules.calendar import Calendar
from rules.moment import HOUR, MINUTE, Millis
from rules.policy import Alerting
from rules.pool_state import Bounds, Notice
from rules.rulebook import Asked
from rules.ruling import Ruling

CALENDAR = Calendar()
START = CALENDAR.start("2026-08-13")
STALE = {"rule": "model-readings-stale", "severity": "warning", "action": "unknown"}


def ruling(at: Millis, used: int, limit: int | None, grant: int = 0, **fields: Any) -> Ruling:
    known: dict[str, Any] = {
        "action": "allow",
        "rule": "model-within-limit",
        "reason": "within its limit",
        "severity": None,
        "formula": "interval",
        "policy": "defaults",
        "wall": "pool",
        "base": 0,
        "counter": "1",
        "guarded": {},
        "bounds": Bounds(pool_low=limit, pool_high=limit, lag_bound=30 * MINUTE, grant=grant),
    }
    if fields.get("severity") and "asked" not in fields:
        fields["asked"] = (Asked(fields["rule"], fields["severity"], "why"),)
    day = CALENDAR.day(at)
    whole = known | {"scope": "model:m", "at": at, "day": day, "until": CALENDAR.end(day)} | fields
    return Ruling(used=used, limit=limit, **whole)


class Story:
    """What people hear of one model."""

    def __init__(self, alerting: Alerting | None = None) -> None:
        self.alerting = alerting or Alerting()
        self.said = Announced()
        self.alerts: list[Alert] = []
        self.now = START

    def rule(self, used: int, limit: int | None = 100, grant: int = 0, **fields: Any) -> list[Alert]:
        """A minute later this holds."""
        self.now += MINUTE
        notices, lasting = fields.pop("notices", ()), fields.pop("lasting", ())
        now = ruling(self.now, used, limit, grant, **fields)
        alerts, self.said = announce(now, notices, self.said, self.alerting, lasting)
        self.said = msgspec.json.decode(msgspec.json.encode(self.said), type=Announced)
        self.alerts += alerts
        return alerts

    def next_day(self) -> None:
        self.now = CALENDAR.end(CALENDAR.day(self.now))

    def told(self) -> list[tuple[str, float | str | None]]:
        """Kind, and what distinguishes it."""
        return [(str(alert.kind), alert.threshold or alert.rule or None) for alert in self.alerts]


def test_cross_reset_cross_restart_cross_is_three_alerts() -> None:
    """Each window in which the limit is reached is told, and each return below it."""
    story = Story(Alerting(thresholds=(1.0,)))
    for _ in range(3):
        story.rule(used=0)
        story.rule(used=100)
        story.rule(used=150)
        story.next_day()
    assert [alert.kind for alert in story.alerts] == [
        Kind.THRESHOLD, Kind.RECOVERED, Kind.THRESHOLD, Kind.RECOVERED, Kind.THRESHOLD,
    ]  # fmt: skip


def test_a_jump_over_both_is_told_as_both_and_equal_is_reached() -> None:
    """From 70 % to 130 % in one event both thresholds are told, the lower first; used = limit is 100 %."""
    jump, exactly = Story(), Story()
    jump.rule(used=70)
    jump.rule(used=130)
    exactly.rule(used=99)
    exactly.rule(used=100)
    assert [alert.threshold for alert in jump.alerts] == [0.8, 1.0]
    assert [(alert.threshold, alert.used) for alert in exactly.alerts] == [(0.8, 99), (1.0, 100)]


def test_a_return_that_suffices_is_told_with_what_it_ends() -> None:
    """Back under the limit: one notice of the severity of what it ends, which it names."""
    story = Story()
    story.rule(used=100)
    crossed = story.alerts[-1]
    (back,) = story.rule(used=100, limit=300, grant=1)
    assert (back.kind, back.severity, back.grant) == (Kind.RECOVERED, Severity.CRITICAL, 1)
    assert [(ended.threshold, ended.severity) for ended in back.ends] == [
        (0.8, Severity.WARNING), (1.0, Severity.CRITICAL),
    ]  # fmt: skip
    assert back.ends[-1].id == crossed.id
    assert story.rule(used=101, limit=300, grant=1) == []


def test_a_return_that_leaves_little_is_told_as_both() -> None:
    """Under the limit again, but beyond 80 %: the recovery comes first, then the threshold of the new round."""
    story = Story()
    story.rule(used=100)
    story.now += HOUR
    back, near = story.rule(used=100, limit=120, grant=1)
    assert (back.kind, [ended.threshold for ended in back.ends]) == (Kind.RECOVERED, [1.0])
    assert (near.kind, near.threshold, near.grant) == (Kind.THRESHOLD, 0.8, 1)


def test_returns_that_do_not_suffice_are_told_once_per_cooldown() -> None:
    """Ten packages, one a minute, none enough: one more alert after the cooldown and not ten."""
    story = Story(Alerting(thresholds=(1.0,), cooldown=10 * MINUTE))
    story.rule(used=200)
    for number in range(1, 16):
        story.rule(used=200, limit=100 + number, grant=number)
    assert [alert.grant for alert in story.alerts] == [0, 10]


def test_reached_again_after_a_recovery_is_told_at_once() -> None:
    """The cooldown is for what does not change: a limit left and reached again is news."""
    story = Story(Alerting(thresholds=(1.0,), cooldown=HOUR))
    story.rule(used=100)
    story.rule(used=100, limit=110, grant=1)
    (again,) = story.rule(used=110, limit=110, grant=1)
    assert (again.threshold, again.grant) == (1.0, 1)


def test_a_limit_that_wavers_is_told_once() -> None:
    """Without a return or a new day a limit that falls and rises tells neither recovery nor crossing again."""
    story = Story(Alerting(thresholds=(1.0,)))
    for limit in (100, 130, 100, 130, 100):
        story.rule(used=110, limit=limit)
    assert story.told() == [("threshold", 1.0)]


def test_an_unknown_limit_is_no_recovery() -> None:
    """A new day without a reading yet says nothing; when the limit is known, it does."""
    story = Story(Alerting(thresholds=(1.0,)))
    story.rule(used=100)
    story.next_day()
    assert story.rule(used=0, limit=None) == []
    (back,) = story.rule(used=1)
    assert back.kind is Kind.RECOVERED


def test_eighty_percent_left_behind_is_no_news() -> None:
    """Every morning a model is under 80 % again: nobody needs to hear that."""
    story = Story()
    story.rule(used=85)
    story.next_day()
    assert story.rule(used=0) == []


def test_a_rule_that_decides_no_more_is_told() -> None:
    """Readings too old, then readings again: a beginning and an end, in the same day as often as it happens."""
    story = Story()
    for _ in range(2):
        for _ in range(20):
            story.rule(used=10, **STALE)
        story.rule(used=10)
    assert story.told() == [
        ("rule", "model-readings-stale"), ("recovered", "model-within-limit"),
    ] * 2  # fmt: skip
    assert [alert.ends[0].rule for alert in story.alerts if alert.ends] == ["model-readings-stale"] * 2
    assert len({alert.id for alert in story.alerts}) == 4


def test_a_rule_that_takes_over_tells_the_end_of_the_other() -> None:
    """Nothing is well again when another rule refuses instead: one alert, which names what it replaces."""
    story = Story()
    story.rule(used=10, **STALE)
    (taking_over,) = story.rule(used=10, rule="mine", severity="critical", action="block")
    assert (taking_over.kind, taking_over.rule) == (Kind.RULE, "mine")
    assert [ended.rule for ended in taking_over.ends] == ["model-readings-stale"]


def test_a_rule_in_force_when_the_limit_is_reached_is_not_over() -> None:
    """The 100 % alert tells of the limit; the rule told before goes on deciding."""
    story = Story()
    for used in (50, 110, 110):
        story.rule(used=used, rule="mine", severity="warning", action="block")
    assert story.told() == [("rule", "mine"), ("threshold", 0.8), ("threshold", 1.0)]


def test_a_rule_that_does_not_decide_is_told_as_well() -> None:
    """An absolute number that warns is told even where a stricter rule names the decision, and is not over then."""
    story = Story()
    mine = Asked("half-a-million", "info", "500,000 are used")
    story.rule(used=10, asked=(mine,))
    story.rule(used=85, rule="model-near-limit", asked=(mine,))
    spent = Asked("model-pool-spent", "critical", "spent")
    story.rule(used=100, rule="mine", asked=(Asked("mine", "warning", "mine"), spent, mine))
    assert [(alert.kind, alert.threshold or alert.details or alert.reason) for alert in story.alerts] == [
        (Kind.RULE, "500,000 are used"), (Kind.THRESHOLD, 0.8), (Kind.THRESHOLD, 1.0),
    ]  # fmt: skip
    assert story.alerts[0].severity is Severity.INFO


def test_at_the_limit_the_threshold_tells_it_alone() -> None:
    """The rule behind the block would say the same a second time."""
    story = Story()
    story.rule(used=100, rule="model-pool-spent", severity="critical", action="block")
    assert story.told() == [("threshold", 0.8), ("threshold", 1.0)]


def overdue(at: Millis) -> Notice:
    return Notice(kind=Kind.RETURN_OVERDUE, at=at, reason="100 of 100 tokens have not come back", numbers={"n": 1})


def test_a_late_return_is_told_when_it_comes() -> None:
    """Noticed once, silent while it lasts, over when the state no longer holds it."""
    story = Story()
    story.rule(used=1, notices=[overdue(story.now)], lasting={"return_overdue": 0})
    story.rule(used=1, lasting={"return_overdue": 0})
    (back,) = story.rule(used=1)
    assert (back.kind, back.ends[0].kind) == (Kind.RECOVERED, Kind.RETURN_OVERDUE)
    assert [alert.kind for alert in story.alerts] == [Kind.RETURN_OVERDUE, Kind.RECOVERED]


def test_a_return_that_never_came_ends_in_silence() -> None:
    """With the new day it is no longer overdue, and nobody is told that all is well."""
    story = Story()
    story.rule(used=1, notices=[overdue(story.now)], lasting={"return_overdue": 0})
    story.next_day()
    assert story.rule(used=1) == []


def test_an_event_is_told_once_per_occasion() -> None:
    """A loss noticed again after a replay has the same id and is not told again."""
    story = Story()
    loss = Notice(kind=Kind.UNEXPLAINED, at=START, reason="gone", numbers={"least": 5, "most": 6})
    (alert,) = story.rule(used=1, notices=[loss])
    assert (alert.severity, alert.details) == (Severity.CRITICAL, {"least": "5", "most": "6"})
    assert story.rule(used=1, notices=[loss]) == []


STEPS = st.lists(
    st.tuples(
        st.integers(0, 40), st.sampled_from([None, 20, 60]), st.booleans(), st.booleans(), st.sampled_from([None, "r"])
    ),
    max_size=60,
)


@given(STEPS)
def test_nothing_is_told_twice_and_every_recovery_ends_something_told(steps: list[tuple[Any, ...]]) -> None:
    """Whatever happens, ids are unique, and what a recovery ends was told before and had not ended."""
    story, grant, used = Story(), 0, 0
    for more, limit, arrives, new_day, rule in steps:
        grant += arrives
        if new_day:
            story.next_day()
            used = 0
        used += more
        fields = {"rule": rule, "severity": "warning"} if rule else {}
        story.rule(used, limit, grant, **fields)
    ids = [alert.id for alert in story.alerts]
    assert len(set(ids)) == len(ids)
    for place, alert in enumerate(story.alerts):
        before = {earlier.id for earlier in story.alerts[:place]}
        ended = {end.id for earlier in story.alerts[:place] for end in earlier.ends}
        assert all(end.id in before and end.id not in ended for end in alert.ends)
