"""What a person should see to in one model: a block nobody heeds, packages that end unused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rules.alerts import Alert, Kind, Severity
from rules.calendar import Calendar
from rules.concerns import GRACE, RECENT, refused_since
from rules.facts import Heard, Minutes, Partial, Sums, Watermark
from rules.judge import Judge
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Alerting, ModelTerms, Policy, RuleSpec
from rules.records import Package, Reading
from rules.rulebook import Rulebook
from streams.policy_file import default_rulebook, default_rules
from tests.rules.test_announce import ruling

CALENDAR = Calendar()
START = CALENDAR.start("2026-08-13")
TERMS = ModelTerms(small_buffer=0)
POLICY = Policy(default=TERMS, rules=default_rules())
RULEBOOK: Rulebook = default_rulebook(POLICY)


class Story:
    """One model of one partition: usage and readings by minute of the day."""

    def __init__(self, policy: Policy = POLICY, rulebook: Rulebook = RULEBOOK) -> None:
        self.judge = Judge(policy, rulebook, 1)
        self.used, self.offset = 0, 0
        self.sheets: dict[int, list[int]] = defaultdict(lambda: [0] * 60)
        self.alerts: list[Alert] = []

    def at(
        self, minute: int, used: int = 0, available: int | None = None, packages: Iterable[Package] | None = None
    ) -> list[Alert]:
        """At this minute so much has been used in all, and the balance is read."""
        self.offset += 1
        now = START + minute * MINUTE
        more, self.used = max(0, used - self.used), max(self.used, used)
        sheet = self.sheets[now // HOUR]
        sheet[now % HOUR // MINUTE] += more
        day = CALENDAR.day(now)
        self.judge.apply(Minutes("model:m", 0, now // HOUR, 0, self.offset, list(sheet)))
        self.judge.apply(Partial("model:m", 0, day, 0, self.offset, Sums(tokens=self.used)))
        self.judge.apply(Watermark("usage", 0, 0, self.offset, now, START))
        if available is not None:
            reading = Reading(
                id=f"r{minute}", at=now, model="m", available=available,
                packages=None if packages is None else tuple(packages),
            )  # fmt: skip
            self.judge.apply(Heard("model:m", reading, f"b/0/{self.offset}"))
        found = [alert for outcome in self.judge.rule(now, every=True) for alert in outcome.alerts]
        self.alerts += found
        return found

    def kinds(self) -> list[str]:
        return [alert.kind.value for alert in self.alerts if alert.kind is not Kind.THRESHOLD]


def test_since_when_calls_are_refused() -> None:
    """The first ruling that refuses counts, until one does not; an unknown limit is no block."""
    blocked = ruling(START, 100, 100, action="block")
    assert refused_since(0, blocked) == START
    assert refused_since(START - HOUR, blocked) == START - HOUR
    assert refused_since(START, ruling(START, 1, 100, action="unknown")) == 0
    assert refused_since(START, ruling(START, 1, 100, action="kill")) == START


def spent(story: Story, until: int, per_minute: int = 0, stops: int = 10**6) -> None:
    """A pool of 100,000 used up at minute 60, and usage after that, until it stops."""
    for minute in range(0, until + 1, 5):
        after = per_minute * max(0, min(minute, stops) - 60)
        story.at(minute, 100_000 + after if minute >= 60 else 0, 100_000 if minute <= 60 else 0)


def test_a_block_that_nobody_heeds_is_told_once() -> None:
    """Usage goes on after the limit: not in the first minutes, when calls admitted before still end, then critical."""
    story = Story()
    spent(story, 180, per_minute=1_000)
    assert story.kinds() == [Kind.BLOCK_IGNORED.value]
    (alert,) = [alert for alert in story.alerts if alert.kind is Kind.BLOCK_IGNORED]
    assert (alert.severity, alert.scope) == (Severity.CRITICAL, "model:m")
    assert START + 60 * MINUTE + GRACE < alert.at <= START + 80 * MINUTE
    assert int(alert.details["passed"]) > 0


def test_a_block_that_is_heeded_is_no_concern() -> None:
    """What was admitted before it may end a few minutes later."""
    story = Story()
    for minute in range(0, 300, 5):
        story.at(minute, {60: 100_000, 65: 100_500}.get(minute, 0), 100_000 if minute <= 60 else 0)
    assert story.kinds() == []


def test_when_calls_stop_it_is_over() -> None:
    """An hour without a call: the gate was repaired."""
    story = Story()
    spent(story, 400, per_minute=1_000, stops=100)
    assert story.kinds() == [Kind.BLOCK_IGNORED.value, Kind.RECOVERED.value]
    assert story.alerts[-1].ends[0].kind is Kind.BLOCK_IGNORED
    assert story.alerts[-1].at >= START + 100 * MINUTE + RECENT


def test_while_observing_nothing_is_refused() -> None:
    """Whoever only looks on is not told that nobody heeds him."""
    policy = POLICY.observing()
    story = Story(policy)
    spent(story, 180, per_minute=1_000)
    assert story.kinds() == []


def package(name: str, days: int, available: int, total: int = 2_000_000) -> Package:
    return Package(id=name, total=total, available=available, effective=START - 30 * DAY, expires=START + days * DAY)


def test_packages_that_end_unused_are_told_days_before() -> None:
    """Two packages end within three days, usage will not reach them: one alert with tokens, day and what would do."""
    story = Story()
    listed = [package("a", 2, 400_000), package("b", 3, 500_000), package("c", 20, 2_000_000)]
    for minute in range(0, 1440, 60):
        story.at(minute, 100 * minute, 2_900_000 - 100 * minute, listed)
    assert story.kinds() == [Kind.EXPIRING.value]
    (alert,) = [alert for alert in story.alerts if alert.kind is Kind.EXPIRING]
    assert alert.severity is Severity.WARNING
    assert alert.details["first_end"] == "2026-08-15"
    assert 800_000 < int(alert.details["tokens"]) <= 900_000
    assert int(alert.details["needed_per_day"]) > int(alert.details["per_day"])


def test_packages_that_are_used_up_in_time_are_no_concern() -> None:
    """At the present rate nothing is left when they end."""
    story = Story()
    for minute in range(0, 600, 30):
        story.at(
            minute, 1_000 * minute, 2_400_000 - 1_000 * minute, [package("a", 2, 400_000), package("c", 20, 10**6)]
        )
    assert story.kinds() == []


def test_a_package_that_has_ended_is_no_good_news() -> None:
    """Its tokens are lost: nobody is told that all is well."""
    story = Story()
    for minute in range(0, 2 * 1440 + 600, 120):
        left = [package("a", 2, 400_000)] if minute < 2 * 1440 else []
        story.at(minute, 1, 3_000_000, [*left, package("c", 20, 2_600_000)])
    assert Kind.RECOVERED.value not in story.kinds()
    assert story.kinds().count(Kind.EXPIRING.value) == 2  # the repeat after a day


def test_a_share_and_an_absolute_number_are_both_told() -> None:
    """The same limit as a threshold of 80 % and as a rule with a number: each fires, once."""
    rule = RuleSpec(
        name="half-a-million", scope="model", when="used >= 500000", action="warn", says="s", alert="warning"
    )
    policy = Policy(
        default=ModelTerms(small_buffer=0), rules=(*default_rules(), rule), alerts=Alerting(thresholds=(0.5,))
    )
    story = Story(policy, default_rulebook(policy))
    for minute in range(0, 120, 5):
        used = 0 if minute < 60 else 10_000 * (minute - 60)
        story.at(minute, used, 1_000_000 - used)
    told = {(alert.kind, alert.threshold or alert.rule) for alert in story.alerts}
    assert told == {(Kind.RULE, "half-a-million"), (Kind.THRESHOLD, 0.5)}
    assert len(story.alerts) == 2
