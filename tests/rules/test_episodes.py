"""Conditions that last: a beginning, seldom repeats, an end, and no flood from one that comes and goes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rules.alerts import Kind, Severity
from rules.episodes import Cadence, Condition, Episode, Telling, follow, named
from rules.moment import DAY, HOUR, MINUTE, Millis

START = 1_786_550_400_000
CADENCE = Cadence(cooldown=10 * MINUTE, repeat=6 * HOUR)


def condition(what: str = "redis", **fields: bool) -> Condition:
    return Condition(what=what, kind=Kind.RULE, severity=Severity.WARNING, reason=f"{what} is down", **fields)


class Story:
    """A scope's conditions by minute; the episodes go through JSON after every step, as over a restart."""

    def __init__(self, cadence: Cadence = CADENCE, **fields: bool) -> None:
        self.cadence = cadence
        self.fields = fields
        self.episodes: dict[str, Episode] = {}
        self.told: list[tuple[int, str]] = []
        self.ids: list[str] = []

    def at(self, minute: int, *whats: str) -> list[Telling]:
        now = START + minute * MINUTE
        holding = [condition(what, **self.fields) for what in whats]
        window = f"day {minute * MINUTE // DAY}"
        tellings, self.episodes = follow(holding, self.episodes, window, now, self.cadence)
        for telling in tellings:
            alert_id = f"{window}|{telling.what}"
            self.episodes = named(self.episodes, telling, alert_id)
            self.ids.append(alert_id)
            how = "over" if telling.ended else f"again {telling.again}" if telling.again else "begins"
            self.told.append((minute, how))
        raw = msgspec.json.encode(self.episodes)
        self.episodes = msgspec.json.decode(raw, type=dict[str, Episode])
        return tellings


def test_a_condition_is_told_at_its_beginning_and_its_end() -> None:
    """Between the two it is quiet, however often one looks; the end names the alert that told the beginning."""
    story = Story()
    for minute in range(60):
        story.at(minute, "redis")
    (end,) = story.at(60)
    story.at(61)
    assert story.told == [(0, "begins"), (60, "over")]
    assert end.ended is not None
    assert end.ended.id == story.ids[0]


def test_what_lasts_is_told_again_after_a_long_while() -> None:
    """With a repeat of six hours a condition of a day is told four times, numbered."""
    story = Story()
    for minute in range(0, 24 * 60, 5):
        story.at(minute, "redis")
    assert story.told == [(0, "begins"), (360, "again 1"), (720, "again 2"), (1080, "again 3")]


def test_repeats_can_be_switched_off() -> None:
    """`never` means once, however long it lasts."""
    story = Story(Cadence(repeat=None))
    for day in range(30):
        story.at(day * 24 * 60, "redis")
    assert story.told == [(0, "begins")]


def test_what_comes_and_goes_is_told_once_per_cooldown() -> None:
    """A condition that holds every second minute for an hour: six beginnings and six ends at most, not thirty."""
    story = Story()
    for minute in range(60):
        story.at(minute, *(["redis"] if minute % 2 == 0 else []))
    assert [how for _, how in story.told] == ["begins", "over"] * 6
    assert [minute for minute, how in story.told if how == "begins"] == [0, 10, 20, 30, 40, 50]


def test_what_holds_after_the_cooldown_is_told_then() -> None:
    """Held back is not forgotten."""
    story = Story()
    story.at(0, "redis")
    story.at(1)
    for minute in range(2, 20):
        story.at(minute, "redis")
    assert story.told == [(0, "begins"), (1, "over"), (10, "begins")]


def test_two_conditions_do_not_know_each_other() -> None:
    """One ends while the other goes on."""
    story = Story()
    story.at(0, "redis", "kafka")
    (end,) = story.at(30, "kafka")
    assert end.condition.what == "redis"


def test_a_daily_condition_begins_anew_with_the_day() -> None:
    """What is about a day's numbers is told again on the next, also when nobody looked at the change of the day."""
    story = Story(daily=True)
    story.at(23 * 60, "rule:spent")
    story.at(25 * 60, "rule:spent")
    assert story.told == [(1380, "begins"), (1500, "begins")]


def test_a_daily_condition_over_on_the_next_day_is_good_news() -> None:
    """Blocked yesterday, open today: people hear that it is over."""
    story = Story(daily=True)
    story.at(23 * 60, "rule:spent")
    story.at(25 * 60)
    assert story.told == [(1380, "begins"), (1500, "over")]


def test_a_condition_that_lapses_with_its_day_is_no_good_news() -> None:
    """Yesterday's return never came; that today's is not due yet ends it in silence."""
    story = Story(lapses=True)
    story.at(13 * 60, "overdue")
    story.at(25 * 60)
    assert story.told == [(780, "begins")]
    story.at(37 * 60, "overdue")
    story.at(38 * 60)
    assert [how for _, how in story.told[1:]] == ["begins", "over"]


LOOKS = st.lists(st.tuples(st.integers(1, 200), st.sets(st.sampled_from(["a", "b"]))), max_size=80)


@given(LOOKS, st.booleans(), st.booleans())
def test_no_id_is_used_twice(looks: list[tuple[int, set[str]]], daily: bool, lapses: bool) -> None:
    """Whatever comes and goes, every alert has an id of its own, and an end comes after a beginning."""
    story, minute = Story(daily=daily, lapses=lapses), 0
    for wait, whats in looks:
        minute += wait
        story.at(minute, *sorted(whats))
    assert len(set(story.ids)) == len(story.ids)
    begun = [how for _, how in story.told].count("begins")
    assert [how for _, how in story.told].count("over") <= begun


@given(LOOKS)
def test_what_is_remembered_stays_small(looks: list[tuple[int, set[str]]]) -> None:
    """One episode per condition, and none long after its end."""
    story, minute = Story(), 0
    for wait, whats in looks:
        minute += wait
        story.at(minute, *sorted(whats))
        assert len(story.episodes) <= 2
    story.at(minute + 3 * 24 * 60)
    story.at(minute + 6 * 24 * 60)
    assert story.episodes == {}


def test_a_beginning_told_twice_after_a_crash_has_one_id() -> None:
    """The state was lost after the telling: the same condition seen a moment later is told under the same id."""
    first, second = Story(), Story()
    first.at(0, "redis")
    second.at(1, "redis")
    assert first.ids == second.ids


def test_lengths_of_time_are_inclusive() -> None:
    """Exactly one repeat after the last telling it is told again, a millisecond earlier it is not."""
    _, episodes = follow([condition()], {}, "d", START, CADENCE)

    def later(wait: Millis) -> list[Telling]:
        return follow([condition()], episodes, "d", START + wait, CADENCE)[0]

    assert later(6 * HOUR - 1) == []
    assert [telling.again for telling in later(6 * HOUR)] == [1]
