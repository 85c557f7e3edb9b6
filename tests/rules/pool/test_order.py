"""Replays, restarts, duplicates and a little disorder change nothing in the end."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.curve import Curve
from rules.moment import HOUR, MINUTE, SECOND
from rules.policy import ModelTerms
from rules.pool import infer, observe
from rules.pool_state import Bounds, Metered, PoolState
from rules.records import Reading

START = 1_786_550_400_000  # 2026-08-13T00:00:00+08:00
TERMS = ModelTerms()
LATENESS = 5 * SECOND


@st.composite
def histories(draw) -> list[tuple[int, int | Reading]]:
    """Some hours of usage (tokens) and readings settled up to half an hour late, arrivals and losses included.

    Usage falls on whole minutes: within a minute C is not known, and a reading tested later sees more of its own.
    """
    paces = draw(st.lists(st.sampled_from([0, 0, 300, 1_000, 4_000]), min_size=8, max_size=24))
    usage = [(START + (block * 15 + m) * MINUTE, pace) for block, pace in enumerate(paces) for m in range(15)]
    usage = [(at, tokens) for at, tokens in usage if tokens]
    pool, at, history = 400_000, START + 20 * MINUTE, list(usage)
    while at < START + len(paces) * 15 * MINUTE:
        lag = draw(st.integers(2, 28)) * MINUTE
        pool += draw(st.sampled_from([0] * 12 + [250_000, -60_000]))
        settled = sum(tokens for when, tokens in usage if when <= at - lag)
        available = max(0, pool - settled)
        history.append((at, Reading(id=f"r{at}", at=at, model="m", available=available, source="api")))
        at += draw(st.integers(5, 25)) * MINUTE + 13_000
    return sorted(history, key=lambda event: event[0])


class Judge:
    """What a judge keeps of one model: minute sums, the folded curve and the pool's state."""

    def __init__(self) -> None:
        self.minutes: dict[int, int] = {}
        self.curve, self.state = Curve(), PoolState()

    def take(self, event: tuple[int, int | Reading]) -> None:
        at, what = event
        if isinstance(what, Reading):
            observe(self.state, what)
        else:
            minute = at // MINUTE
            self.minutes[minute] = self.minutes.get(minute, 0) + what
            self.curve.set(minute, self.minutes[minute])

    def look(self, now: int, complete_until: int) -> Bounds:
        self.curve.fold(now)
        metered = Metered(
            curve=self.curve,
            complete_until=complete_until,
            since=START - HOUR,
            day="2026-08-13",
            day_start=START,
            day_base=0,
        )
        return infer(self.state, TERMS, metered, now)[0]

    def restart(self) -> None:
        """Write everything down as JSON and read it back."""
        folded = msgspec.json.decode(msgspec.json.encode(self.curve.folded), type=type(self.curve.folded))
        self.state = msgspec.json.decode(msgspec.json.encode(self.state), type=PoolState)
        self.curve = Curve(folded)
        for minute, tokens in self.minutes.items():
            self.curve.set(minute, tokens)


def run(history, cut: int | None = None) -> tuple[Bounds, PoolState]:
    judge, end = Judge(), history[-1][0] + MINUTE
    for index, event in enumerate(history):
        if index == cut:
            judge.restart()
        judge.take(event)
        judge.look(event[0] + LATENESS, event[0])
    return judge.look(end, end - LATENESS), judge.state


@settings(max_examples=40, deadline=None)
@given(histories(), st.data())
def test_a_restart_changes_nothing(history, data) -> None:
    """fold(prefix), written down and read back, then the rest, is fold(all)."""
    cut = data.draw(st.integers(1, len(history) - 1))
    assert run(history, cut) == run(history)


@settings(max_examples=40, deadline=None)
@given(histories(), st.data())
def test_readings_that_come_twice_or_out_of_order_change_nothing(history, data) -> None:
    """Within the allowed lateness each is tested in its place; a duplicate is none of its own."""
    readings = [event for event in history if isinstance(event[1], Reading)]
    twice = data.draw(st.lists(st.sampled_from(readings), max_size=6))
    shaken = data.draw(st.randoms(use_true_random=False))
    arrivals = [(at + shaken.randint(0, LATENESS), event) for at, event in ((e[0], e) for e in history + twice)]
    judge, end = Judge(), history[-1][0] + MINUTE
    for at, event in sorted(arrivals, key=lambda pair: pair[0]):
        judge.take(event)
        judge.look(at, at - LATENESS)
    bounds, straight = judge.look(end, end - LATENESS), run(history)[0]
    for name in ("pool_low", "pool_high", "lag_bound", "complete", "low_from", "high_from", "share", "grant"):
        assert getattr(bounds, name) == getattr(straight, name), name


@settings(max_examples=25, deadline=None)
@given(histories())
def test_how_often_one_looks_changes_nothing(history) -> None:
    """Evaluating after every event and only once at the end give the same bounds."""
    judge, end = Judge(), history[-1][0] + MINUTE
    for event in history:
        judge.take(event)
    once, often = judge.look(end, end - LATENESS), run(history)[0]
    assert (once.pool_low, once.pool_high, once.lag_bound) == (often.pool_low, often.pool_high, often.lag_bound)


@settings(max_examples=25, deadline=None)
@given(histories())
def test_the_state_stays_small(history) -> None:
    """It travels with every change."""
    assert len(msgspec.json.encode(run(history)[1])) < 16_384
