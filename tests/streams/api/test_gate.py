"""The gate's own carrier sends to the intake."""

from __future__ import annotations

import json

import pytest
from blastdoor_gateway.events.event import UsageEvent
from blastdoor_gateway.events.http import HttpCarrier
from blastdoor_gateway.events.outbox import Outbox, UnusableError
from blastdoor_gateway.money import Tokens

from tests.streams.api.conftest import GATEWAY, Api, MemorySink


async def test_the_gates_events_arrive(api: Api, sink: MemorySink) -> None:
    """Each event is on the usage topic under its id, with what the gate counted."""
    outbox = Outbox(HttpCarrier(f"{api.url}/v1/events", GATEWAY))
    for number in range(3):
        tokens = Tokens(30, prompt=10, completion=20, cached=4)
        outbox.put(
            UsageEvent(id=f"r{number}", ts="2026-08-13T11:08:00.123+08:00", model="m", tenant="t", tokens=tokens)
        )
    await outbox.close()
    assert [(parcel.topic, parcel.key) for parcel in sink.parcels] == [
        ("bd.usage", b"r0"),
        ("bd.usage", b"r1"),
        ("bd.usage", b"r2"),
    ]
    assert {json.loads(parcel.value)["total_tokens"] for parcel in sink.parcels} == {30}


async def test_what_the_intake_cannot_use(api: Api) -> None:
    """A batch without anything usable is not sent again and again; a wrong token is, for an operator can mend it."""
    with pytest.raises(UnusableError, match="400"):
        await HttpCarrier(f"{api.url}/v1/events", GATEWAY).deliver([(b"r", b"{")])
    with pytest.raises(OSError, match="401"):
        await HttpCarrier(f"{api.url}/v1/events", "wrong-token-0123456789").deliver([(b"r", b"{}")])
