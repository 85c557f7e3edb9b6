"""What is put in is counted when it has been acknowledged, and not before."""

import asyncio
from typing import Any

import pytest
from aiokafka.errors import KafkaTimeoutError

from streams.ship.outbox import NotDelivered, Outbox
from streams.ship.parcels import Parcel
from streams.ship.tally import Tally

PARCEL = Parcel("usage", "t.usage", b"k", b"v", origin="a.log:1")


class Broker:
    """Stands in for a producer; acknowledges when told to."""

    def __init__(self) -> None:
        self.acks: list[asyncio.Future[Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.full = False

    async def send(self, topic: str, **record: Any) -> asyncio.Future[Any]:
        if self.full:
            raise KafkaTimeoutError
        self.sent.append({"topic": topic} | record)
        self.acks.append(asyncio.get_running_loop().create_future())
        return self.acks[-1]

    async def stop(self) -> None:
        for ack in self.acks[:1]:
            ack.set_result(None)


async def test_nothing_counts_before_it_is_acknowledged() -> None:
    """The place of a file is remembered after this."""
    broker, tally = Broker(), Tally()
    outbox = Outbox(broker, 8, tally)
    await outbox.put(PARCEL)
    settling = asyncio.create_task(outbox.settle())
    await asyncio.sleep(0)
    assert tally.sent.total() == 0
    broker.acks[0].set_result(None)
    await settling
    assert tally.sent == {"usage": 1}
    await outbox.settle()
    assert tally.sent == {"usage": 1}


async def test_what_is_not_acknowledged_is_told() -> None:
    """With how many, and why; the others count."""
    broker, tally = Broker(), Tally()
    outbox = Outbox(broker, 8, tally)
    for _ in range(3):
        await outbox.put(PARCEL)
    broker.acks[0].set_result(None)
    for ack in broker.acks[1:]:
        ack.set_exception(KafkaTimeoutError())
    with pytest.raises(NotDelivered, match="2 records were not acknowledged: KafkaTimeoutError"):
        await outbox.settle()
    assert tally.sent == {"usage": 1}


async def test_a_broker_that_takes_nothing_more_is_told() -> None:
    """Rather than waiting for ever."""
    broker = Broker()
    broker.full = True
    with pytest.raises(NotDelivered, match="takes nothing more"):
        await Outbox(broker, 8, Tally()).put(PARCEL)


async def test_an_interrupted_run_counts_what_is_still_acknowledged() -> None:
    """Closing sends what is under way; the summary is true."""
    broker, tally = Broker(), Tally()
    outbox = Outbox(broker, 8, tally)
    await outbox.put(PARCEL)
    await outbox.put(PARCEL)
    await outbox.close()
    assert tally.sent == {"usage": 1}


async def test_key_partition_and_origin_travel_with_the_record() -> None:
    """A partition that is given wins over the key's."""
    broker = Broker()
    outbox = Outbox(broker, 8, Tally())
    await outbox.put(PARCEL)
    await outbox.put(PARCEL._replace(partition=2, origin=""))
    first, second = broker.sent
    assert (first["topic"], first["key"], first["value"], first["headers"]) == (
        "t.usage",
        b"k",
        b"v",
        [("origin", b"a.log:1")],
    )
    assert (second["partition"], second["headers"]) == (2, [])
