"""One partition in one pair of hands: what is sent in which order, when, and what waits for what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from streams.delivery import backlog as backlog_module
from streams.delivery import lease as lease_module
from streams.delivery.book import Book, Entry
from streams.delivery.lease import Lease, Surroundings, Term
from streams.delivery.resume import Resume
from streams.delivery.rows import Place, new_owner, recover
from streams.delivery.step import Flush, Moment, Observer, Output


@dataclass(frozen=True)
class Stored:
    """A record on a log."""

    offset: int
    key: bytes | None = None
    value: bytes | None = b"v"
    timestamp: int = 0
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass
class Broker:
    """Stands in for the sender: a list of what arrived, acknowledged when the test lets it."""

    arrived: list[tuple[str, Any]] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None
    offset: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, outputs: Iterable[Output]) -> None:
        self.arrived.append(("outputs", [output.value for output in outputs]))
        await self._acknowledge()

    async def append(self, _topic: str, _partition: int, entries: Sequence[Entry]) -> int:
        self.arrived.append(("rows", dict(entries)))
        await self._acknowledge()
        self.offset += len(entries)
        return self.offset - len(entries)

    async def _acknowledge(self) -> None:
        self.news.set()
        await self.open.wait()
        if self.error is not None:
            raise self.error

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                self.news.clear()
                await self.news.wait()

    @property
    def places(self) -> list[int]:
        """The positions of all place rows that arrived."""
        return [position(rows) for kind, rows in self.arrived if kind == "rows"]


def position(rows: dict[bytes, bytes]) -> int:
    places = [value for key, value in rows.items() if key.startswith(b"@") and value is not None]
    return recover({key: value for key, value in rows.items() if value in places}).place.position if places else -1


class Summing:
    """Stores the number of records handled."""

    name, topic, interval, lot = "summing", "t", 0.0, 500

    def __init__(self) -> None:
        self.total = 0
        self.stored = 0
        self.moments: list[Moment] = []

    async def assigned(self, partition: int, restored: object) -> None: ...

    def handle(self, _partition: int, records: Sequence[Stored]) -> None:
        self.total += len(records)

    def flush(self, _partition: int, moment: Moment) -> Flush | None:
        self.moments.append(moment)
        if self.total == self.stored:
            return None
        self.stored = self.total
        return Flush([Output("out", 0, b"k", b"%d" % self.total)], {"total": self.total})

    def revoked(self, partition: int) -> None: ...


@pytest.fixture
def broker() -> Broker:
    broker = Broker()
    broker.open.set()
    return broker


@pytest.fixture
def failures() -> list[str]:
    return []


@pytest.fixture
async def lease(broker: Broker, failures: list[str]) -> Lease:
    around = Surroundings(
        broker,
        Observer(),
        lambda *_: (0, True),
        lambda error, where: failures.append(f"{where}: {error}"),
    )
    lease = Lease(Summing(), 0, "changelog", Book(new_owner(1, 0), recover({})), around)
    lease.resume(Resume(0, 0), "", Term("me", 1))
    yield lease
    await lease.stop()


def records(*offsets: int) -> list[Stored]:
    return [Stored(offset) for offset in offsets]


async def test_a_new_owner_makes_itself_known(lease: Lease, broker: Broker) -> None:
    """The first flush writes a place even though nothing was handled."""
    lease.start()
    await lease.settle()
    assert broker.places[0] == 0
    assert (lease.position, lease.flushed) == (0, 0)


async def test_outputs_then_rows_then_the_position(lease: Lease, broker: Broker) -> None:
    """Each waits for the acknowledgement of the one before."""
    broker.open.clear()
    lease.handle(records(0, 1))
    lease.start()
    await broker.until(lambda: len(broker.arrived) == 1)
    assert broker.arrived == [("outputs", [b"2"])]
    assert lease.flushed == -1
    broker.open.set()
    await lease.settle()
    assert [kind for kind, _ in broker.arrived[:2]] == ["outputs", "rows"]
    assert broker.places[0] == 2
    assert lease.flushed == 2


async def test_handling_goes_on_while_a_flush_is_under_way(lease: Lease, broker: Broker) -> None:
    """What has gathered meanwhile is one flush, and the flush under way is of what it began with."""
    lease.start()
    await broker.until(lambda: bool(broker.places))
    broker.open.clear()
    lease.handle(records(0))
    await broker.until(lambda: broker.arrived[-1] == ("outputs", [b"1"]))
    for offset in range(1, 10):
        lease.handle(records(offset))
    broker.open.set()
    await lease.settle()
    assert [value for kind, value in broker.arrived if kind == "outputs"] == [[b"1"], [b"10"]]
    assert [place for place in broker.places if place > 0] == [1, 10]


async def test_handling_waits_when_flushes_fall_far_behind(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step never has to hold more than so many records' changes beside those being flushed."""
    monkeypatch.setattr(lease_module, "MAX_AHEAD", 5)
    lease.step.interval = 60.0
    lease.start()
    await broker.until(lambda: bool(broker.places))
    broker.open.clear()
    lease.handle(records(*range(5)))
    await asyncio.wait_for(lease.room(), 3)  # pressed: the interval does not hold up what waits
    lease.handle(records(*range(5, 10)))
    waiting = asyncio.create_task(lease.room())
    await asyncio.sleep(0.02)
    assert not waiting.done()
    broker.open.set()
    await asyncio.wait_for(waiting, 3)


async def test_an_error_ends_everything(lease: Lease, broker: Broker, failures: list[str]) -> None:
    """What could not be sent is not committed, and nothing more is flushed."""
    broker.error = OSError("no broker")
    lease.handle(records(0))
    lease.start()
    await lease.settle()
    assert failures == ["flushing summing/0: no broker"]
    assert lease.flushed == -1
    assert len(broker.arrived) == 1


async def test_stopping_leaves_the_rest_to_be_handled_again(lease: Lease, broker: Broker) -> None:
    """After a failure elsewhere nothing more is stored."""
    lease.start()
    await broker.until(lambda: bool(broker.places))
    lease.step.interval = 60.0
    lease.handle(records(0))
    await lease.stop()
    assert lease.flushed == 0
    assert not lease.settled


async def test_a_place_is_withdrawn_when_rows_have_vanished(lease: Lease, broker: Broker, failures: list[str]) -> None:
    """A changelog that goes back has lost rows: what was written is worth nothing, and must not be read as a state."""
    lease.handle(records(0))
    lease.start()
    await broker.until(lambda: bool(broker.places))
    broker.offset = 0
    lease.handle(records(1))
    await lease.settle()
    assert failures == ["flushing summing/0: changelog/0 has gone back from offset 0 to 0: rows are lost"]
    written: dict[bytes, bytes | None] = {}
    for kind, rows in broker.arrived:
        written |= rows if kind == "rows" else {}
    assert recover({key: value for key, value in written.items() if value is not None}).place is None


async def test_settled_can_go_on(lease: Lease, broker: Broker) -> None:
    """A partition that comes back in the next generation goes on from memory, with its rows in their slots."""
    lease.handle(records(0))
    lease.start()
    await lease.settle()
    assert lease.settled
    lease.start()
    lease.handle(records(1))
    await lease.settle()
    rows: dict[bytes, bytes] = {}
    for kind, page in broker.arrived:
        rows |= page if kind == "rows" else {}
    found = recover(rows)
    assert (found.place.position, bytes(found.values["total"])) == (2, b"2")


async def test_a_step_is_asked_while_nothing_comes(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time alone can change a decision."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 0.01)
    lease.start()
    await asyncio.sleep(0.1)
    await lease.settle()
    assert len(lease.step.moments) > 3
    assert len(broker.places) == 1  # and nothing is written for it


async def test_what_is_told_between_whole_flushes_moves_no_place(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that leaves its rows out is sent for, and stays where its rows were stored last."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 1e9)
    lease.step.flush = lambda _, moment: Flush(
        [Output("out", 0, b"k", b"%d" % lease.step.total)], {"total": lease.step.total} if moment.whole else {}
    )
    lease.start()
    await broker.until(lambda: bool(broker.places))
    await asyncio.sleep(0)
    lease.handle(records(0))
    await broker.until(lambda: ("outputs", [b"1"]) in broker.arrived)
    assert (broker.places, lease.flushed) == ([0], 0)
    await lease.settle()
    assert (broker.places[-1], lease.flushed) == (1, 1)


async def test_a_whole_flush_comes_once_in_a_while(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first and the last are whole, and those in between as often as a position is worth a row."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 1e9)
    lease.start()
    for offset in range(4):
        await broker.until(lambda: ("outputs", [b"%d" % offset]) in broker.arrived or not offset)  # noqa: B023
        lease.handle(records(offset))
    await broker.until(lambda: ("outputs", [b"4"]) in broker.arrived)
    await lease.settle()
    whole = [moment.whole for moment in lease.step.moments]
    assert (whole[0], whole[-1]) == (True, True)
    assert not any(whole[1:-1])


async def test_a_deleted_row_makes_no_whole_flush(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of it is removed with the next one that comes anyway: some steps delete a row in every one."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 1e9)
    whole: list[bool] = []

    def flush(_: int, moment: Moment) -> Flush:
        whole.append(moment.whole)
        return Flush([Output("out", 0, b"k", b"%d" % lease.step.total)], {"row": None if len(whole) > 1 else 1})

    lease.step.flush = flush
    lease.start()
    for offset in range(3):
        await broker.until(lambda: ("outputs", [b"%d" % offset]) in broker.arrived)  # noqa: B023
        lease.handle(records(offset))
    await broker.until(lambda: ("outputs", [b"3"]) in broker.arrived)
    await lease.settle()
    assert (whole[0], whole[-1]) == (True, True)
    assert not any(whole[1:-1])


async def test_while_the_worker_catches_up_a_step_is_asked_less_often(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far behind in any partition, what could be told is old news; it is told as soon as the end comes near."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 1e9)
    monkeypatch.setattr(backlog_module, "BEHIND", 5)
    monkeypatch.setattr(backlog_module, "LASTS_SECONDS", 1e9)
    lease._around = replace(lease._around, end_of=lambda *_: (100, True))
    lease.start()
    await broker.until(lambda: bool(broker.places))
    lease.handle(records(*range(50)))
    for _ in range(10):
        await asyncio.sleep(0)
    monkeypatch.setattr(lease._around.backlog, "_until", 0.0)
    lease.handle(records(*range(50, 96)))
    await broker.until(lambda: ("outputs", [b"96"]) in broker.arrived)
    assert len(lease.step.moments) == 2


async def test_while_the_worker_catches_up_whole_flushes_come_seldom(
    lease: Lease, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told goes on, but rows and places wait until the end comes near, or for longer than usual."""
    monkeypatch.setattr(lease_module, "IDLE_SECONDS", 1e-9)
    monkeypatch.setattr(lease_module, "BEHIND_SECONDS", 1e9)
    monkeypatch.setattr(backlog_module, "BEHIND", 5)
    monkeypatch.setattr(backlog_module, "LASTS_SECONDS", 1e9)
    lease._around = replace(lease._around, end_of=lambda *_: (100, True))
    lease.start()
    await broker.until(lambda: bool(broker.places))
    lease.handle(records(*range(50)))
    await broker.until(lambda: ("outputs", [b"50"]) in broker.arrived)
    assert not lease.step.moments[-1].whole
    monkeypatch.setattr(lease._around.backlog, "_until", 0.0)
    lease.handle(records(*range(50, 96)))
    await broker.until(lambda: ("outputs", [b"96"]) in broker.arrived)
    assert next(moment for moment in lease.step.moments if moment.position == 96).whole


async def test_a_touch_is_a_flush(lease: Lease, broker: Broker) -> None:
    """A step that works in the background is not kept waiting for the next record."""
    lease.start()
    await broker.until(lambda: bool(broker.places))
    lease.step.total = 7
    lease.touch()
    await broker.until(lambda: ("outputs", [b"7"]) in broker.arrived)


@pytest.mark.parametrize(
    ("handled", "end", "at_end"),
    [
        (9, (10, True), False),
        (10, (10, True), True),
        (10, (10, False), False),
        (10, (None, False), False),
        (11, (10, True), True),
    ],
)
async def test_the_end_is_known_or_not_claimed(
    broker: Broker, handled: int, end: tuple[int | None, bool], at_end: bool
) -> None:
    """`at_end` needs a fresh word of the broker that nothing follows."""
    around = Surroundings(broker, Observer(), lambda *_: end, lambda *_: None)
    lease = Lease(Summing(), 0, "changelog", Book(new_owner(1, 0), recover({})), around)
    lease.resume(Resume(handled, 0), "", Term("me", 1))
    lease.start()
    await lease.settle()
    assert lease.step.moments[0].at_end is at_end
    assert lease.progress == ("summing", 0, handled, handled, end[0])


async def test_the_place_names_the_last_record(lease: Lease) -> None:
    """Whether its fingerprint was taken already or not."""
    lease.handle(records(0))
    before = lease.place
    lease.start()
    await lease.settle()
    assert before.record == lease.place.record != ""
    assert lease.place == Place(flush=lease.place.flush, incarnation=0, position=1, record=before.record)
