"""What waits at the same time goes out together: one message, one answer, no alert the hostage of another."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.channels.gathering import Offer, Parcel, groups
from streams.channels.lane import Lane
from streams.channels.outcome import Outcome, Progress
from streams.channels.sender import Note, Sent

WINDOW = 5.0
MOST = 30
LOST = Sent.retry("no connection")


class Bot:
    """A sender that records groups of ids, and refuses or doubts those that hold a bad one."""

    name = "bot"
    most = MOST
    reports = True

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.answers: list[Sent] = []  # to the next groups
        self.bad: dict[str, Sent] = {}
        self.gate: asyncio.Event | None = None

    async def send(self, note: Note) -> Sent:
        ids = [alert.id for alert in note.alerts]
        self.groups.append(ids)
        if self.gate is not None:
            await self.gate.wait()
        if self.answers:
            return self.answers.pop(0)
        return next((self.bad[alert_id] for alert_id in ids if alert_id in self.bad), Sent.delivered())


class Road:
    """A lane that waits for company."""

    def __init__(self, manual: Any, make_note: Any) -> None:
        self.manual, self.make_note = manual, make_note
        self.bot = Bot()
        self.reports: list[tuple[str, Outcome]] = []
        self.lane = Lane(self.bot, manual.timing(), self._report, most=MOST, window=WINDOW)

    def put(self, alert_id: str, scope: str = "", partition: int = 0) -> None:
        note = self.make_note(id=alert_id, scope=scope or f"model:{alert_id}")
        self.lane.put(Parcel(partition, note, self.manual.timing().now()))

    def put_many(self, count: int) -> list[str]:
        names = [f"n{number}" for number in range(count)]
        for name in names:
            self.put(name)
        return names

    def delivered(self) -> list[str]:
        return [name for name, outcome in self.reports if outcome.progress is Progress.DELIVERED]

    def _report(self, parcel: Parcel, outcome: Outcome) -> None:
        self.reports.append((parcel.note.alert.id, outcome))


@pytest.fixture
async def road(manual, make_note):
    laid = Road(manual, make_note)
    yield laid
    await laid.lane.close()


async def test_what_comes_within_the_window_is_one_message(road: Road) -> None:
    """25 models within five seconds of the first: one message with all of them, and nothing before the time is over."""
    for number in range(25):
        road.put(f"n{number}")
        await road.manual.advance(0.19)
    assert road.bot.groups == []
    await road.manual.advance(WINDOW)
    assert road.bot.groups == [[f"n{number}" for number in range(25)]]
    assert len(road.delivered()) == 25


async def test_both_thresholds_of_a_jump_are_in_the_same_message(road: Road) -> None:
    """Alerts of one scope go together, in their order."""
    road.put("a80", "model:a")
    road.put("b80", "model:b")
    road.put("a100", "model:a")
    await road.manual.advance(WINDOW)
    (group,) = road.bot.groups
    assert sorted(group) == ["a100", "a80", "b80"]
    assert group.index("a80") < group.index("a100")


async def test_a_message_holds_no_more_than_it_may(road: Road) -> None:
    """70 alerts are three messages of at most 30."""
    names = road.put_many(70)
    await road.manual.advance(WINDOW)
    assert [len(group) for group in road.bot.groups] == [30, 30, 10]
    assert sorted(name for group in road.bot.groups for name in group) == sorted(names)


async def test_more_of_one_scope_than_a_message_holds_keep_their_order(road: Road) -> None:
    """The rest of a scope goes with the next message, not before the first has arrived."""
    names = [f"a{number:02}" for number in range(35)]
    for name in names:
        road.put(name, "model:a")
    await road.manual.advance(3 * WINDOW)
    assert road.bot.groups == [names[:30], names[30:]]


async def test_after_a_failure_they_meet_again(road: Road) -> None:
    """The receiver is not there three times: the same 25 go together each time, with what came meanwhile at the end."""
    road.bot.answers = [LOST, LOST, LOST]
    names = road.put_many(25)
    await road.manual.advance(WINDOW)
    road.put("late")
    await road.manual.advance(60)
    assert len(road.bot.groups[0]) == 25
    assert sorted(road.delivered()) == sorted([*names, "late"])
    assert len(road.bot.groups) <= 6


async def test_a_refused_message_is_halved_until_the_bad_alert_is_alone(road: Road) -> None:
    """One alert that the receiver does not take: it is refused by itself, the other 24 arrive, each once."""
    road.bot.bad = {"n7": Sent.refused("code 19036: body too large")}
    names = road.put_many(25)
    await road.manual.advance(20 * WINDOW)
    final = {name: outcome.progress for name, outcome in road.reports if outcome.final}
    assert final == dict.fromkeys(names, Progress.DELIVERED) | {"n7": Progress.REFUSED}
    assert sorted(road.delivered()) == sorted(set(names) - {"n7"})
    assert ["n7"] in road.bot.groups


async def test_an_answer_without_a_reason_isolates_as_well(road: Road) -> None:
    """An unknown code may be about one alert: the others must not wait a day for it."""
    road.bot.bad = {"n3": Sent.retry("code 77: unknown", doubtful=True)}
    names = road.put_many(12)
    await road.manual.advance(300)
    assert sorted(road.delivered()) == sorted(set(names) - {"n3"})


async def test_an_outage_does_not_dissolve_a_message(road: Road) -> None:
    """No connection says nothing about the alerts: after an hour of it they still arrive as one message."""
    road.bot.answers = [LOST] * 20
    road.put_many(25)
    await road.manual.advance(2 * 3600)
    assert [len(group) for group in road.bot.groups] == [25] * 21


async def test_while_quiet_is_asked_for_alerts_gather(road: Road) -> None:
    """A busy receiver that wants a minute gets one message afterwards, with all that came in the meantime."""
    road.manual.chance = 0.0
    road.bot.answers = [Sent.retry("HTTP 429", after=60, throttled=True)]
    road.put("first")
    await road.manual.advance(WINDOW)
    for number in range(10):
        road.put(f"n{number}")
        await road.manual.advance(5)
    await road.manual.advance(60)
    assert road.bot.groups[0] == ["first"]
    assert sorted(name for group in road.bot.groups[1:] for name in group) == sorted(
        ["first", *(f"n{number}" for number in range(10))]
    )
    assert len(road.bot.groups) <= 3


async def test_a_gone_receiver_refuses_the_whole_message(road: Road) -> None:
    """410 is about the channel: nothing is halved, all are refused with the reason."""
    road.bot.answers = [Sent.refused("HTTP 410", gone=True)]
    names = road.put_many(5)
    await road.manual.advance(WINDOW)
    assert {name: outcome.progress for name, outcome in road.reports} == dict.fromkeys(names, Progress.REFUSED)
    assert len(road.bot.groups) == 1


async def test_a_dropped_partition_leaves_the_message(road: Road) -> None:
    """Its alerts are the next owner's; those of another partition go on."""
    road.put("a", partition=0)
    road.put("b", partition=1)
    road.lane.drop(0)
    await road.manual.advance(WINDOW)
    assert road.bot.groups == [["b"]]


async def test_a_message_nobody_waits_for_is_broken_off(road: Road) -> None:
    """All its partitions have gone while it was under way: nothing is reported any more."""
    road.bot.gate = asyncio.Event()
    road.put_many(3)
    await road.manual.advance(WINDOW)
    road.lane.drop(0)
    road.bot.gate.set()
    await road.manual.advance(WINDOW)
    assert (len(road.bot.groups), road.reports) == (1, [])


async def test_a_report_that_raises_takes_no_other_with_it(road: Road) -> None:
    """Each alert of a message is reported for itself."""
    seen: list[str] = []

    def stumble(parcel: Parcel, _: Outcome) -> None:
        if parcel.note.alert.id == "a1":
            raise RuntimeError
        seen.append(parcel.note.alert.id)

    road.lane._report = stumble
    for name in ("a1", "a2", "a3"):
        road.put(name, "model:a")
    await road.manual.advance(WINDOW)
    assert seen == ["a2", "a3"]


SHAPES = st.lists(st.tuples(st.integers(1, 8), st.integers(8, 40)), max_size=30)


@settings(deadline=None)
@given(SHAPES, st.integers(8, 30))
def test_groups_hold_everything_once_and_no_more_than_anyone_allows(shapes: list[tuple[int, int]], most: int) -> None:
    """However many offers there are: all are in exactly one group, none larger than its most demanding member."""

    async def form() -> list[list[Offer]]:
        offers = []
        for number, (count, limit) in enumerate(shapes):
            parcels = [Parcel(number, None, 0, most=limit) for _ in range(count)]  # type: ignore[arg-type]
            offers.append(Offer(parcels))
        return groups(offers, most)

    found = asyncio.run(form())
    numbers: dict[int, int] = defaultdict(int)
    for group in found:
        parcels = [parcel for offer in group for parcel in offer.parcels]
        assert len(parcels) <= min([most, *(parcel.most for parcel in parcels)])
        for offer in group:
            numbers[offer.parcels[0].partition] += 1
    assert numbers == dict.fromkeys(range(len(shapes)), 1)
