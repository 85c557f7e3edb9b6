"""The way to one channel: order, patience, bounds."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from itertools import pairwise
from typing import Any

import pytest

from rules.moment import DAY
from streams.channels.gathering import AT_ONCE, Parcel
from streams.channels.lane import Lane
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Note, Sent

LOST = Sent.retry("no connection")


class Scripted:
    """A sender that answers as told, per alert id, and else accepts."""

    name = "scripted"
    most = 1
    reports = True

    def __init__(self) -> None:
        self.answers: dict[str, deque[Sent | Exception]] = {}
        self.attempts: list[str] = []
        self.delivered: list[str] = []
        self.busy = self.most_busy = 0
        self.gate: asyncio.Event | None = None

    def script(self, alert_id: str, *answers: Sent | Exception) -> None:
        self.answers[alert_id] = deque(answers)

    async def send(self, note: Note) -> Sent:
        self.attempts.append(note.alert.id)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._answer(note.alert.id)
        finally:
            self.busy -= 1

    def _answer(self, alert_id: str) -> Sent:
        answers = self.answers.get(alert_id)
        answer = answers.popleft() if answers else Sent.delivered()
        if isinstance(answer, Exception):
            raise answer
        if answer == Sent.delivered():
            self.delivered.append(alert_id)
        return answer


class Road:
    """A lane with a scripted sender, and what it reported."""

    def __init__(self, manual: Any, make_note: Any) -> None:
        self.manual, self.make_note = manual, make_note
        self.sender = Scripted()
        self.reports: list[tuple[str, Outcome]] = []
        self.lane = Lane(self.sender, manual.timing(), self._report)

    def put(self, alert_id: str, scope: str = "model:a", partition: int = 0, since: int | None = None) -> None:
        now = self.manual.timing().now()
        note = self.make_note(id=alert_id, scope=scope)
        self.lane.put(Parcel(partition, note, now if since is None else since))

    def final(self) -> dict[str, Progress]:
        return {alert_id: outcome.progress for alert_id, outcome in self.reports if outcome.final}

    def _report(self, parcel: Parcel, outcome: Outcome) -> None:
        self.reports.append((parcel.note.alert.id, outcome))


@pytest.fixture
async def road(manual, make_note):
    """A lane that is closed in the end."""
    laid = Road(manual, make_note)
    yield laid
    await laid.lane.close()


async def test_order_is_kept_within_a_scope_and_others_overtake(road: Road) -> None:
    """The first note of a scope fails twice: its later ones wait for it, other scopes do not."""
    road.sender.script("a1", LOST, LOST)
    for alert_id, scope in (("a1", "model:a"), ("a2", "model:a"), ("b1", "model:b"), ("b2", "model:b")):
        road.put(alert_id, scope)
    await road.manual.advance(0)
    assert road.sender.delivered == ["b1", "b2"]
    await road.manual.advance(10)
    assert road.sender.delivered == ["b1", "b2", "a1", "a2"]


async def test_attempts_back_off(road: Road) -> None:
    """After failures the waits grow: with full chance 1, 2, 4 s; every failed attempt is reported."""
    road.sender.script("a", LOST, LOST, LOST)
    road.put("a")
    at = []
    for _ in range(80):
        await road.manual.advance(0.1)
        if len(road.sender.attempts) > len(at):
            at.append(road.manual.seconds)
    assert [round(later - earlier) for earlier, later in pairwise(at)] == [1, 2, 4]
    assert [outcome.progress for _, outcome in road.reports] == [Progress.WAITING] * 3 + [Progress.DELIVERED]
    assert [outcome.attempts for _, outcome in road.reports] == [1, 2, 3, 4]


async def test_a_busy_receiver_pauses_the_whole_channel(road: Road) -> None:
    """After a wish to wait nothing is sent to this channel until the time is over, then everything."""
    road.manual.chance = 0.0
    road.sender.script("a", Sent.retry("HTTP 429", after=30, throttled=True))
    road.put("a")
    await road.manual.advance(0)
    road.put("b", "model:b")
    await road.manual.advance(29)
    assert road.sender.attempts == ["a"]
    await road.manual.advance(2)
    assert sorted(road.sender.delivered) == ["a", "b"]


async def test_a_refusal_ends_one_note_only(road: Road) -> None:
    """What can never succeed is not repeated and holds up nothing."""
    road.sender.script("a1", Sent.refused("code 19036: body too large"))
    road.put("a1")
    road.put("a2")
    await road.manual.advance(0)
    assert road.final() == {"a1": Progress.REFUSED, "a2": Progress.DELIVERED}
    assert road.sender.attempts == ["a1", "a2"]


async def test_a_receiver_that_is_gone_gets_nothing_more(road: Road) -> None:
    """After 410 the channel is closed: later notes are refused with that reason, without an attempt."""
    road.sender.script("a", Sent.refused("HTTP 410", gone=True))
    road.put("a")
    await road.manual.advance(0)
    road.put("b", "model:b")
    await road.manual.advance(0)
    assert road.sender.attempts == ["a"]
    assert road.reports[-1][1] == Outcome(Progress.REFUSED, road.reports[-1][1].at, 0, "channel closed: HTTP 410")


async def test_after_a_day_it_gives_up(road: Road) -> None:
    """A receiver that never answers costs a day of attempts, not for ever; the next note gets its own day."""
    road.sender.script("a", *[LOST] * 10_000)
    road.put("a")
    await road.manual.advance(23 * 3600)
    assert road.final() == {}
    await road.manual.advance(2 * 3600)
    assert road.final() == {"a": Progress.GAVE_UP}
    assert len(road.sender.attempts) < 24 * 3600 / 300 + 20


async def test_an_alert_from_before_a_long_standstill_gets_one_attempt(road: Road) -> None:
    """Heard of more than a day ago: tried once, then given up."""
    road.sender.script("a", LOST, LOST)
    road.put("a", since=road.manual.timing().now() - DAY)
    await road.manual.advance(100)
    assert road.final() == {"a": Progress.GAVE_UP}
    assert road.sender.attempts == ["a"]


async def test_few_exchanges_are_under_way_at_once(road: Road) -> None:
    """A hundred scopes at once: no more than the bound are being sent."""
    road.sender.gate = asyncio.Event()
    for number in range(100):
        road.put(f"n{number}", f"model:{number}")
    await road.manual.advance(0)
    assert road.sender.busy == AT_ONCE
    road.sender.gate.set()
    for _ in range(20):
        await road.manual.advance(0)
    assert len(road.sender.delivered) == 100
    assert road.sender.most_busy == AT_ONCE


async def test_a_sender_that_raises_costs_neither_alert_nor_lane(road: Road) -> None:
    """A mistake of ours is an attempt that failed; its text, which may hold a URL, is not repeated."""
    road.sender.script("a", RuntimeError("https://host/hook/secret-token"))
    road.put("a")
    await road.manual.advance(2)
    assert road.final() == {"a": Progress.DELIVERED}
    assert road.reports[0][1].detail == "the sender failed (RuntimeError)"


async def test_a_report_that_raises_stops_nothing_and_is_logged(road: Road, caplog: pytest.LogCaptureFixture) -> None:
    """The lane goes on with the next note and says that something is wrong, without the error's text."""

    def stumble(parcel: Parcel, outcome: Outcome) -> None:
        if parcel.note.alert.id == "a1":
            raise RuntimeError("secret-token")
        road._report(parcel, outcome)

    road.lane._report = stumble
    road.put("a1")
    road.put("a2")
    with caplog.at_level(logging.ERROR):
        await road.manual.advance(1)
    assert road.final() == {"a2": Progress.DELIVERED}
    assert caplog.messages == ["delivery to scripted stumbled: RuntimeError"]
    assert "secret-token" not in caplog.text


async def test_a_dropped_partition_is_not_sent_any_more(road: Road) -> None:
    """After a partition has gone, its notes are the next owner's; those of other partitions go on."""
    road.sender.script("a", LOST)
    road.put("a", partition=0)
    road.put("b", partition=1)
    await road.manual.advance(0)
    road.lane.drop(0)
    await road.manual.advance(60)
    assert road.sender.attempts == ["a", "b"]
    assert road.final() == {"b": Progress.DELIVERED}


async def test_a_note_put_as_the_last_one_ends_is_not_forgotten(road: Road) -> None:
    """Between the end of a queue and the end of its task a new note starts anew."""
    for number in range(5):
        road.put(f"n{number}")
        for _ in range(number):
            await asyncio.sleep(0)
    await road.manual.advance(0)
    assert road.sender.delivered == [f"n{number}" for number in range(5)]
    assert road.lane._queues == {}
    assert road.lane._tasks == {}
