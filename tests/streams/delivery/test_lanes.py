"""What goes out together, in which order, and who hears of an error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.delivery.send import Lane, Sender
from streams.delivery.step import Headers, Output


class Batch(list[bytes]):
    """A record batch that holds three records."""

    def append(self, **record: Any) -> object:  # type: ignore[override]
        if len(self) == 3:
            return None
        super().append(record["value"])
        return self

    def close(self) -> None: ...


class Producer:
    """Takes batches and acknowledges them when the test says so."""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []
        self.singles: list[tuple[str, bytes]] = []
        self.acks: list[asyncio.Future[Any]] = []

    def create_batch(self) -> Batch:
        return Batch()

    async def send_batch(self, batch: Batch, _topic: str, **_: int) -> asyncio.Future[Any]:
        self.batches.append(list(batch))
        return self._ack()

    async def send(self, topic: str, value: bytes, _key: bytes, **_: Any) -> asyncio.Future[Any]:
        self.singles.append((topic, value))
        return self._ack()

    def _ack(self) -> asyncio.Future[Any]:
        self.acks.append(asyncio.get_running_loop().create_future())
        return self.acks[-1]


async def turns() -> None:
    """Let everybody run until all of them wait."""
    for _ in range(10):
        await asyncio.sleep(0)


def entries(*values: bytes) -> list[tuple[bytes, bytes | None, Headers]]:
    return [(b"k", value, ()) for value in values]


async def test_what_is_offered_in_one_turn_goes_together() -> None:
    """Whoever offers it: partitions flush at the same time, and a batch each would cost ten times as much."""
    producer = Producer()
    lane = Lane(producer, "t", 0)
    first, second = lane.add(entries(b"1")), lane.add(entries(b"2"))
    await turns()
    assert producer.batches == [[b"1", b"2"]]
    producer.acks[0].set_result(None)
    await asyncio.wait([first, second])


async def test_while_a_batch_is_under_way_the_next_one_gathers() -> None:
    """In the order in which it was offered, and nothing is acknowledged before the broker has done so."""
    producer = Producer()
    lane = Lane(producer, "t", 0)
    first = lane.add(entries(b"1"))
    await turns()
    second, third = lane.add(entries(b"2")), lane.add(entries(b"3"))
    await turns()
    assert producer.batches == [[b"1"]]
    producer.acks[0].set_result(None)
    await first
    await turns()
    assert producer.batches == [[b"1"], [b"2", b"3"]]
    assert [second.done(), third.done()] == [False, False]
    producer.acks[1].set_result(None)
    await asyncio.wait([second, third])


async def test_more_than_a_batch_holds_goes_in_several() -> None:
    """All of them have to be acknowledged."""
    producer = Producer()
    safe = Lane(producer, "t", 0).add(entries(b"1", b"2", b"3", b"4"))
    await turns()
    assert producer.batches == [[b"1", b"2", b"3"], [b"4"]]
    producer.acks[0].set_result(None)
    await turns()
    assert not safe.done()
    producer.acks[1].set_result(None)
    await safe


async def test_an_error_reaches_everybody_who_waits() -> None:
    """What was gathered meanwhile is tried for itself."""
    producer = Producer()
    lane = Lane(producer, "t", 0)
    first, second = lane.add(entries(b"1")), lane.add(entries(b"2"))
    await turns()
    third = lane.add(entries(b"3"))
    producer.acks[0].set_exception(OSError("no broker"))
    for waiting in (first, second):
        with pytest.raises(OSError, match="no broker"):
            await waiting
    await turns()
    producer.acks[1].set_result(None)
    await third


async def test_who_is_cancelled_takes_nobody_along() -> None:
    """A partition that goes elsewhere stops waiting; what others send beside it is acknowledged all the same."""
    producer = Producer()
    sender = Sender("127.0.0.1:1")
    sender._started = producer  # type: ignore[assignment]
    outputs = [Output("t", 0, b"k", b"1"), Output("t", None, b"k", b"by key")]
    leaving, staying = (asyncio.create_task(sender.send(outputs[:count])) for count in (1, 2))
    await turns()
    leaving.cancel()
    for ack in producer.acks:
        ack.set_result(None)
    await staying
    assert leaving.cancelled()
    assert (producer.batches, producer.singles) == ([[b"1", b"1"]], [("t", b"by key")])
