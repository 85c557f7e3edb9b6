"""Conditions that last: told when they begin, now and then while they go on, and when they are over.

One that comes and goes is told once in a while only: after a telling it keeps quiet for the cooldown, and is told
then if it holds at that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rules.alerts import Ended, Kind, Severity
from rules.calendar import Day
from rules.moment import DAY, MINUTE, Millis


class Condition(Struct, frozen=True, kw_only=True):
    """Something that holds now. `what` tells it from the others of its scope."""

    what: str
    kind: Kind
    severity: Severity
    reason: str
    rule: str = ""
    details: dict[str, str] = {}
    daily: bool = False  # about the numbers of a day: in a new one it begins anew
    lapses: bool = False  # with its day; that it holds no more on the next is no good news
    unsaid: bool = False  # that it holds no more is no news at all


class Episode(Struct, frozen=True, kw_only=True):
    """A condition with what was told of it. Part of the scope's stored state."""

    condition: Condition
    window: Day  # in which it began
    number: int  # of its kind in that window
    id: str = ""  # of the alert that told it first
    said: Millis  # when it was told last
    times: int = 1
    over: bool = False


class Cadence(Struct, frozen=True, kw_only=True):
    """How often the same may be told. `repeat` None: never again while it lasts."""

    cooldown: Millis = 10 * MINUTE
    repeat: Millis | None = DAY


class Telling(NamedTuple):
    """Something to say of a condition. `what` goes into the alert's id: the same after a crash."""

    condition: Condition
    what: str
    again: int = 0
    ended: Ended | None = None


Episodes = Mapping[str, Episode]


def follow(
    holding: Iterable[Condition], known: Episodes, window: Day, now: Millis, cadence: Cadence
) -> tuple[list[Telling], dict[str, Episode]]:
    """What is to be said now, and the episodes then. Who says it enters the alert's id with `named`."""
    told: list[Telling] = []
    found = {what: episode for what, episode in known.items() if not _is_past(episode, window, now, cadence)}
    for condition in holding:
        episode = found.pop(condition.what, None)
        telling, after = _hold(condition, episode, window, now, cadence)
        told += [] if telling is None else [telling]
        found |= {} if after is None else {condition.what: after}
    names = {condition.what for condition in holding}
    for what, episode in found.items():
        if what not in names and not episode.over:
            found[what] = replace(episode, over=True)
            told += [] if _lapsed(episode, window) else [_end(episode)]
    return told, found


def named(episodes: Mapping[str, Episode], telling: Telling, alert_id: str) -> dict[str, Episode]:
    """The episodes, with the id of the alert that tells a beginning."""
    what, known = telling.condition.what, dict(episodes)
    if not telling.again and telling.ended is None:
        known[what] = replace(known[what], id=alert_id)
    return known


def _hold(
    condition: Condition, episode: Episode | None, window: Day, now: Millis, cadence: Cadence
) -> tuple[Telling | None, Episode | None]:
    if episode is None:
        return _begin(condition, 0, window, now)
    other_day = condition.daily and episode.window != window
    if episode.over or other_day:
        if not other_day and now - episode.said < cadence.cooldown:
            return None, episode
        return _begin(condition, episode.number + 1 if episode.window == window else 0, window, now)
    if cadence.repeat is None or now - episode.said < cadence.repeat:
        return None, episode
    what = _what(condition, episode.number)
    again = replace(episode, said=now, times=episode.times + 1)
    return Telling(condition, f"{what}/{episode.times}", again=episode.times), again


def _begin(condition: Condition, number: int, window: Day, now: Millis) -> tuple[Telling, Episode]:
    episode = Episode(condition=condition, window=window, number=number, said=now)
    return Telling(condition, _what(condition, number)), episode


def _end(episode: Episode) -> Telling:
    told = episode.condition
    ended = Ended(id=episode.id, kind=told.kind, severity=told.severity, rule=told.rule)
    return Telling(told, f"end:{episode.id}", ended=ended)


def _what(condition: Condition, number: int) -> str:
    return f"{condition.what}#{number}" if number else condition.what


def _lapsed(episode: Episode, window: Day) -> bool:
    return episode.condition.unsaid or (episode.condition.lapses and episode.window != window)


def _is_past(episode: Episode, window: Day, now: Millis, cadence: Cadence) -> bool:
    """Neither its number nor its cooldown matters any more."""
    return episode.over and episode.window != window and now - episode.said >= cadence.cooldown
