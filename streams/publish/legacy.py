"""The two numbers that v6 gates read, as calls of legacy.lua. What they are is decided in rules/legacy.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from blastdoor_gateway.contract import Keys, version_score

from rules.calendar import Calendar, Day
from rules.legacy import GATE_DAYS, LegacyInput, ceiling, expiry
from rules.moment import Millis
from streams.publish.backlog import Entry
from streams.publish.daily import DailyUsage
from streams.publish.decisions import EVENT_LIFE, LIFE
from streams.publish.observer import LegacyOutcome
from streams.publish.scripts import LEGACY, Call

GONE: Millis = 1
"""An end long past: the script takes the keys away."""


class Answer(NamedTuple):
    """What the script found. `counted`: by gates; `strangers`: keys somebody else wrote since we did."""

    outcome: LegacyOutcome
    counted: int = 0
    held: str = ""
    strangers: tuple[str, ...] = ()


class LegacyKeys:
    """Which numbers to write now, for every spelling of a model.

    `clock` is None in event mode, where decisions tell the time.
    """

    def __init__(self, keys: Keys, calendar: Calendar, daily: DailyUsage, clock: Callable[[], Millis] | None) -> None:
        self._keys = keys
        self._calendar = calendar
        self._daily = daily
        self._clock = clock

    def calls(self, entry: Entry, offset: Millis) -> dict[str, Call]:
        """A call for each model name; none before a survey has told what gates counted, none for a day that is over.

        `offset`: what Redis's clock shows more than ours.
        """
        given = entry.legacy
        if given is None or not self._daily.surveyed or given.day != self._calendar.day(self._now(given)):
            return {}
        score = version_score(entry.decision.version)
        ends, lives = self._life(given, offset)
        calls = {model: self._call(model, given, score, ends, lives) for model in given.models}
        return {model: call for model, call in calls.items() if call is not None}

    def gate_day(self, given: LegacyInput) -> Day:
        """The day under which gates count now."""
        return GATE_DAYS.day(self._now(given))

    def _now(self, given: LegacyInput) -> Millis:
        return given.at if self._clock is None else self._clock()

    def _life(self, given: LegacyInput, offset: Millis) -> tuple[Millis, Millis]:
        """When the numbers end by Redis's clock; in event mode, whose time Redis does not share, how long they live."""
        now = self._now(given)
        ends = expiry(now, self._calendar, given.lease)
        if self._clock is not None:
            return ends + offset, 0
        return (0, EVENT_LIFE) if ends > now else (GONE, 0)

    def _call(self, model: str, given: LegacyInput, score: str, ends: Millis, lives: Millis) -> Call | None:
        counted, keys = self._daily.found(self.gate_day(given), model), self._keys
        if counted is None:
            return None
        return Call(
            LEGACY,
            (keys.balance_at_sync(model), keys.usage_at_sync(model), keys.legacy_written(model), *counted.keys),
            (
                score, ceiling(given), given.used or 0, given.apart, given.balance or 0, counted.tokens,
                ends, lives, LIFE if self._clock is not None else EVENT_LIFE,
            ),
        )  # fmt: skip


def read_answer(answer: Any) -> Answer:
    """The answer of legacy.lua as a value."""
    outcome, second, strangers = LegacyOutcome(answer[0]), str(answer[1]), tuple(answer[2])
    if outcome is LegacyOutcome.REFUSED:
        return Answer(outcome, held=second)
    return Answer(outcome, int(second), strangers=strangers)
