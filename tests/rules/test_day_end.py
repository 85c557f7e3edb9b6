"""The end of a day: how long calls were refused, and the books once all usage has arrived."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.day_book import DayBook
from rules.day_end import REFUSING, Refusing, refusing_after
from rules.facts import Heard, Minutes, Partial, Sums, Watermark
from rules.judge import BOOK, Judge
from rules.moment import DAY, HOUR, MINUTE, Millis
from rules.policy import ModelTerms, Policy
from rules.records import Package, Reading
from streams.policy_file import default_rulebook, default_rules
from tests.rules.test_announce import ruling

CALENDAR = Calendar()
START = CALENDAR.start("2026-08-13")
POLICY = Policy(default=ModelTerms(small_buffer=0, stale_after=30 * DAY), rules=default_rules())
RULEBOOK = default_rulebook(POLICY)


def refusing(*steps: tuple[Millis, str]) -> Refusing:
    """After these rulings: when, and which action."""
    state = Refusing()
    for at, action in steps:
        found = ruling(START + at, 0, 100, action=action)
        state = refusing_after(state, found, CALENDAR.start(found.day))
    return state


def test_stretches_of_a_day_add_up() -> None:
    """Two blocks of one and two hours, and an hour unknown: four hours, counted to the minute they are asked for."""
    state = refusing(
        (0, "allow"), (HOUR, "block"), (2 * HOUR, "warn"),
        (3 * HOUR, "unknown"), (4 * HOUR, "block"), (6 * HOUR, "allow"),
    )  # fmt: skip
    assert state.until(START + 20 * HOUR) == 4 * HOUR
    assert refusing((HOUR, "block")).until(START + 3 * HOUR) == 2 * HOUR


def test_a_block_over_midnight_is_cut_there() -> None:
    """Each day has its part, whenever the first ruling of the day came."""
    evening = refusing((23 * HOUR, "block"))
    assert evening.until(START + DAY) == HOUR
    morning = refusing((23 * HOUR, "block"), (DAY + 5 * MINUTE, "block"), (DAY + 2 * HOUR, "allow"))
    assert (morning.day, morning.until(START + DAY + 9 * HOUR)) == ("2026-08-14", 2 * HOUR)
    assert refusing((23 * HOUR, "block"), (DAY + MINUTE, "allow")).until(START + DAY + HOUR) == 0


ACTIONS = st.sampled_from(["allow", "warn", "block", "unknown", "kill"])


@given(st.lists(st.tuples(st.integers(1, 90), ACTIONS), min_size=1, max_size=15))
def test_it_is_the_sum_of_all_refusing_intervals(steps: list[tuple[int, str]]) -> None:
    """However the rulings follow one another within a day."""
    at, expected, timed, last = 0, 0, [], ""
    for wait, action in steps:
        expected += wait if last in REFUSING else 0
        at, last = at + wait, action
        timed.append((at * MINUTE, action))
    if at < 24 * 60:
        assert refusing(*timed).until(START + at * MINUTE) == expected * MINUTE


class Story:
    """One model; the judge begins anew from its rows before every step."""

    def __init__(self) -> None:
        self.rows: dict[str, Any] = {}
        self.offset = 0
        self.sums = Sums()
        self.books: list[DayBook] = []

    def at(self, at: Millis, *heard: Reading, complete: Millis | None = None, **sums: int) -> None:
        """At this instant of the story the day has these sums, and usage is complete up to then."""
        judge = Judge(POLICY, RULEBOOK, 1)
        judge.restore(msgspec.json.decode(msgspec.json.encode(self.rows)))
        self.offset += 1
        now = START + at
        day = CALENDAR.day(now)
        if sums:
            tokens = [0] * 60
            tokens[now % HOUR // MINUTE] = sums["tokens"]
            judge.apply(Minutes("model:m", 0, now // HOUR, 0, self.offset, tokens))
            judge.apply(Partial("model:m", 0, day, 0, self.offset, Sums(**sums)))
        judge.apply(Watermark("usage", 0, 0, self.offset, now if complete is None else START + complete, START))
        for reading in heard:
            judge.apply(Heard("model:m", reading, f"b/0/{self.offset}"))
        outcomes = judge.rule(now, every=True)
        self.books += [outcome.closed for outcome in outcomes if outcome.closed is not None]
        for key, row in judge.take_rows().items():
            self.rows[key] = row
        self.rows = {key: row for key, row in self.rows.items() if row is not None}


def reading(at: Millis, available: int, *packages: Package) -> Reading:
    return Reading(id=f"r{at}", at=START + at, model="m", available=available, source="api", packages=packages or None)


def package(name: str, effective: Millis, expires: Millis, total: int, available: int) -> Package:
    return Package(id=name, total=total, available=available, effective=START + effective, expires=START + expires)


def test_a_day_is_closed_once_and_only_when_all_its_usage_is_there() -> None:
    """Midnight has passed, but usage of the day is still under way: the books wait for it, and take it in."""
    story = Story()
    story.at(0, reading(0, 1_000_000))
    story.at(HOUR, reading(HOUR, 1_000_000))
    story.at(10 * HOUR, tokens=300_000, requests=30, cache_hits=4, cached=7)
    story.at(DAY - MINUTE, reading(DAY - MINUTE, 700_000), tokens=300_000, requests=30, cache_hits=4, cached=7)
    story.at(DAY + 1, complete=DAY - 2 * MINUTE)
    assert story.books == []
    story.at(DAY - MINUTE + 1, tokens=310_000, requests=31, cache_hits=4, cached=7)
    story.at(DAY + MINUTE)
    story.at(DAY + 2 * MINUTE)
    (book,) = story.books
    assert (book.scope, book.day, book.used) == ("model:m", "2026-08-13", 310_000)
    assert (book.requests, book.cache_hits, book.cached) == (31, 4, 7)


def test_returns_expiry_charges_and_the_rest_are_those_of_the_day() -> None:
    """A package came and one ended with tokens left; the next day's arrival is not this day's."""
    story = Story()
    old = package("old", -29 * DAY, 12 * HOUR, 500_000, 500_000)
    main = package("main", -DAY, 20 * DAY, 1_000_000, 1_000_000)
    new = package("new", 2 * HOUR, 30 * DAY, 200_000, 200_000)
    for hour in range(24):
        listed = [main, *([old] if hour < 12 else []), *([new] if hour >= 2 else [])]
        story.at(hour * HOUR, reading(hour * HOUR, sum(each.available for each in listed), *listed))
    tomorrow = package("tomorrow", DAY, 31 * DAY, 300_000, 300_000)
    story.at(DAY + HOUR, reading(DAY + HOUR, 1_500_000, main, new, tomorrow))
    (book,) = story.books
    assert (book.used, book.returned, book.expired, book.charged) == (0, (200_000, 200_000), (500_000, 500_000), (0, 0))
    assert book.left is not None
    assert book.left[0] <= 1_200_000 <= book.left[1]
    assert book.refused < 2 * HOUR  # until metering had run for the lag bound


def test_a_day_whose_pool_was_never_known_has_its_usage() -> None:
    """Without a reading nothing can be said of the pool, and nothing is."""
    story = Story()
    story.at(0)
    story.at(10 * HOUR, tokens=5_000, requests=3)
    story.at(DAY + MINUTE)
    (book,) = story.books
    assert (book.used, book.requests) == (5_000, 3)
    assert (book.returned, book.charged, book.left) == (None, None, None)
    assert book.refused == 14 * HOUR  # since it was first heard of


@pytest.mark.parametrize("away", [1, 3])
def test_after_days_without_the_engine_the_last_day_is_closed(away: int) -> None:
    """The engine was down over midnight, or for days: the day it last saw still gets its books."""
    story = Story()
    story.at(0, reading(0, 1_000_000))
    story.at(10 * HOUR, tokens=5_000, requests=3)
    story.at(10 * HOUR + away * DAY)
    assert [(book.day, book.used) for book in story.books] == [("2026-08-13", 5_000)]
    assert f"{BOOK}model:m" in story.rows
