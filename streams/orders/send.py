"""Sending an order: once for an id, and acknowledged by the broker before anybody is told so."""

from __future__ import annotations

from datetime import tzinfo
from typing import NamedTuple, Protocol

from streams.orders.archive import Archive, Filed
from streams.orders.order import Order, parcel, says_the_same
from streams.settings import Settings
from streams.ship.parcels import Parcel
from streams.topics import Topics, ensure_topics


class Sink(Protocol):
    """Who sends; answers with the places of what was not acknowledged."""

    async def send(self, parcels: list[Parcel]) -> set[int]: ...
    async def close(self) -> None: ...


class ConflictError(ValueError):
    """The id stands for another order already."""


class NotAcknowledgedError(Exception):
    """The broker did not confirm the order in time. It may be stored all the same; sending it again is safe."""


class Sent(NamedTuple):
    """`before`: the order stood there already, so nothing was sent."""

    before: Filed | None


async def send_once(order: Order, archive: Archive, sink: Sink, topics: Topics, origin: str) -> Sent:
    """Put the order onto its topic unless it stands there. Raises ConflictError, NotAcknowledgedError.

    Two that send at the very same instant may both do so: the judge takes the first of an id.
    """
    known = await archive.find(order)
    if known is not None:
        if not says_the_same(known.order, order):
            raise ConflictError(f"{order.id} is the id of another order, at {known.origin}")
        return Sent(known)
    if await sink.send([parcel(order, topics, origin)]):
        raise NotAcknowledgedError(f"the broker did not confirm {order.id} in time; sending it again is safe")
    return Sent(None)


async def send_from_here(settings: Settings, order: Order, zone: tzinfo) -> Sent:
    """The same from a command. Raises BrokerUnavailable, TopicError and DeliveryError, too."""
    from streams.api.sink import Sink as KafkaSink  # noqa: PLC0415 - the server's part, which commands seldom need

    topics = Topics(settings.prefix)
    partitions = await ensure_topics(settings.kafka, settings.prefix)
    sink = KafkaSink(settings.kafka, partitions)
    try:
        return await send_once(order, Archive(settings.kafka, topics, zone), sink, topics, f"command:{order.by}")
    finally:
        await sink.close()
