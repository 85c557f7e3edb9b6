"""The local receiver is as strict as the services it plays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streams.channels.bot import judge
from streams.channels.feishu import signature
from streams.channels.receiver import FEISHU, WEBHOOK, Arrival, Receiver
from streams.channels.wire import Reply, Wire

NOW = 1_700_000_000_000
CARD = {"schema": "2.0", "body": {"elements": [{"tag": "markdown", "content": "blastdoor"}]}}


def request(**changes: Any) -> bytes:
    """A good request, with changes."""
    good = {
        "timestamp": "1700000000",
        "sign": signature("1700000000", "secret"),
        "msg_type": "interactive",
        "card": CARD,
    }
    return json.dumps(good | changes).encode()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(request(), 0, id="good"),
        pytest.param(
            request(card={"elements": [{"tag": "div", "text": {"content": "blastdoor"}, "x": 1}]}), 0, id="1.0 ignores"
        ),
        pytest.param(request(sign="AAAA"), 19021, id="wrong signature"),
        pytest.param(request(sign="ä"), 19021, id="a signature beyond ASCII"),
        pytest.param(request(timestamp=1_700_000_000), 19021, id="timestamp not text"),
        pytest.param(
            request(timestamp="1699996399", sign=signature("1699996399", "secret")),
            19021,
            id="an hour and a second old",
        ),
        pytest.param(request(timestamp="1699996400", sign=signature("1699996400", "secret")), 0, id="an hour old"),
        pytest.param(request(msg_type="text"), 19002, id="no card"),
        pytest.param(request(card=json.dumps(CARD)), 19002, id="card as text"),
        pytest.param(request(card=CARD | {"elements": []}), 19002, id="unknown property in 2.0"),
        pytest.param(request(card={"schema": "2.0", "body": {"elements": []}}), 19024, id="no keyword"),
        pytest.param(request(padding="x" * 20_480), 19036, id="too large"),
        pytest.param(b"{", 9499, id="no JSON"),
        pytest.param(b"[]", 9499, id="no object"),
    ],
)
def test_the_bot_judges_strictly(body: bytes, code: int) -> None:
    """Each request gets the code the real service would give."""
    assert judge(body, "secret", "blastdoor", NOW)[0] == code


async def test_the_receiver_listens_on_this_machine_only(receiver) -> None:
    """Nothing of it can be reached from elsewhere."""
    assert receiver.channel(FEISHU).url.startswith("http://127.0.0.1:")
    assert receiver.channel(WEBHOOK).url.startswith("http://127.0.0.1:")


async def test_an_unsigned_webhook_is_not_accepted(receiver, wire: Wire) -> None:
    """Without a good signature nothing arrives."""
    answer = await wire.post(receiver.channel(WEBHOOK).url, b"{}", {"webhook-id": "x"}, want_body=False)
    assert isinstance(answer, Reply)
    assert answer.status == 401
    assert receiver.arrivals == []


async def test_somebody_who_listens_hears_of_every_arrival(wire, quick, make_note) -> None:
    """The demo shows arrivals as they come: id, channel and the texts a person reads."""
    from streams.channels.build import build_senders

    heard: list[Arrival] = []
    async with Receiver(heard=heard.append) as receiver:
        channels = {kind: receiver.channel(kind) for kind in (FEISHU, WEBHOOK)}
        for sender in build_senders(channels, wire, quick).values():
            await sender.send(make_note())
        assert await receiver.arrived(2) == heard
    assert [arrival.channel for arrival in heard] == [FEISHU, WEBHOOK]
    assert heard[0].id == heard[1].id == make_note().alert.id
    assert heard[0].texts()[0] == "模型 deepseek-v4-flash 已用到限额的 80%"


async def test_secrets_are_new_each_time() -> None:
    """Nobody who read the source can send to a running receiver."""
    one, other = Receiver(), Receiver()
    for kind in (FEISHU, WEBHOOK):
        assert one.channel(kind).secret != other.channel(kind).secret
        assert one.channel(kind).url != other.channel(kind).url
