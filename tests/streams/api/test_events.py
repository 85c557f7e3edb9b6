"""What the intake takes, what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

from rules.policy import Policy, Sender
from streams.api.room import FullError, Room
from streams.api.server import LARGEST
from streams.facts_topic import FactsTopic
from streams.meter import Meter
from streams.metrics import Metrics
from streams.topics import Topics
from tests.streams.api.conftest import AT, OPERATOR, Api, MemorySink, Start
from tests.streams.partition import Partition

USAGE: dict[str, Any] = {
    "type": "usage",
    "id": "u-1",
    "ts": "2026-08-13T11:08:00.123+08:00",
    "model": "flash",
    "prompt_tokens": 1200,
    "completion_tokens": 300,
    "cached_tokens": 1000,
}
BALANCE = {"type": "balance", "id": "b-1", "ts": "2026-08-13T11:22:00+08:00", "model": "flash", "available": 5}
CONTROL = {
    "type": "control", "id": "c-1", "ts": "2026-08-13T11:22:00+08:00", "by": "op", "why": "test", "action": "kill",
    "scope": "global",
}  # fmt: skip
REFUSAL = {
    "type": "refusal", "id": "r-1", "ts": "2026-08-13T11:22:00+08:00", "model": "flash", "usage": 1, "reserve": 1,
    "limit": 1,
}  # fmt: skip
LITELLM = {
    "litellm_call_id": "l-1", "call_type": "acompletion", "endTime": 1786590480.1, "model_group": "flash",
    "prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30,
}  # fmt: skip
CLOUD = {
    "specversion": "1.0", "type": "prompt", "id": "1", "source": "app", "subject": "acme",
    "time": "2026-08-13T00:00:00Z", "data": {"tokens": "123", "model": "flash", "type": "output"},
}  # fmt: skip


def usage(n: int, **fields: Any) -> dict[str, Any]:
    return USAGE | {"id": f"u-{n}"} | fields


def keys(sink: MemorySink) -> list[str]:
    return [f"{parcel.topic.partition('.')[2]} {parcel.key.decode()}" for parcel in sink.parcels]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (json.dumps(USAGE), ["usage u-1"]),
        (json.dumps(USAGE, indent=2), ["usage u-1"]),
        (json.dumps([usage(1), usage(2)]), ["usage u-1", "usage u-2"]),
        ("\n".join(json.dumps(usage(n)) for n in (1, 2)) + "\n", ["usage u-1", "usage u-2"]),
        ("\r\n\r\n".join(json.dumps(usage(n)) for n in (1, 2)), ["usage u-1", "usage u-2"]),
        ("\ufeff" + json.dumps(USAGE), ["usage u-1"]),
        (json.dumps([LITELLM]), ["usage l-1"]),
        (json.dumps(LITELLM) + "\n" + json.dumps(USAGE), ["usage l-1", "usage u-1"]),
        (json.dumps(CLOUD), ["usage app/1"]),
        (json.dumps([CLOUD, CLOUD | {"id": "2"}]), ["usage app/1", "usage app/2"]),
        (json.dumps([LITELLM | {"end_user": "half: \ud83d"}, USAGE]), ["usage l-1", "usage u-1"]),
    ],
    ids=[
        "one",
        "over lines",
        "array",
        "lines",
        "CRLF",
        "BOM",
        "LiteLLM",
        "mixed",
        "CloudEvent",
        "batch",
        "half a character",
    ],
)
async def test_every_format_is_told_by_its_content(api: Api, sink: MemorySink, body: str, found: list[str]) -> None:
    """One object, an array or lines, of any accepted kind; the content type does not matter."""
    reply = await api.post(body, Content_Type="text/plain")
    assert (reply.status, reply.json) == (200, {"accepted": len(found), "errors": []})
    assert keys(sink) == found


async def test_openmeters_path_answers_as_openmeter_does(api: Api) -> None:
    """204 without a body where all is well; errors as everywhere."""
    path, kind = "/api/v1/events", "application/cloudevents+json"
    reply = await api.post(json.dumps(CLOUD), path, Content_Type=kind)
    assert (reply.status, reply.text) == (204, "")
    assert (await api.post(json.dumps(CLOUD | {"data": {}}), path, Content_Type=kind)).status == 400


async def test_errors_are_told_per_record(api: Api, sink: MemorySink) -> None:
    """What is good is taken; what is not is an error with its place, and a dead letter."""
    reply = await api.post(json.dumps([usage(1), usage(2, ts="yesterday"), usage(3), 5]))
    assert reply.status == 200
    assert reply.json["accepted"] == 2
    assert [(error["index"], error["reason"]) for error in reply.json["errors"]] == [(1, "bad_time"), (3, "wrong_type")]
    topics = [parcel.topic for parcel in sink.parcels]
    assert topics == ["bd.usage", "bd.dead-letters", "bd.usage", "bd.dead-letters"]


async def test_the_same_bad_record_has_the_same_dead_letter(api: Api, sink: MemorySink) -> None:
    """A sender that repeats itself does not fill the dead letters with different keys."""
    for _ in range(2):
        assert (await api.post("{}")).status == 400
    assert len({parcel.key for parcel in sink.parcels}) == 1


async def test_a_refusal_of_ours_is_taken_and_makes_nothing(api: Api, sink: MemorySink) -> None:
    """LiteLLM logs our own 429 as a failed call."""
    refused = LITELLM | {"status": "failure", "error_str": "429: {'error': 'blastdoor: closed'}"}
    refused |= {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    reply = await api.post(json.dumps([refused]))
    assert reply.json == {"accepted": 1, "errors": []}
    assert sink.parcels == []


@pytest.mark.parametrize("token", [None, "", "wrong", "gateway-token-012345678", "gateway-token-01234567890", "ü"])
async def test_without_the_token_nothing_is_read(api: Api, sink: MemorySink, token: str | None) -> None:
    """No token, a wrong one, one too short, one too long: 401."""
    reply = await api.post(json.dumps(USAGE), token=token)
    assert reply.status == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"
    assert sink.parcels == []
    if token:
        assert token not in reply.text


async def test_other_schemes_are_no_tokens(api: Api) -> None:
    """The token counts as bearer token only."""
    async with api.session.post(f"{api.url}/v1/events", headers={"Authorization": f"Basic {OPERATOR}"}) as response:
        assert response.status == 401


async def test_without_senders_the_door_is_locked(start: Start, sink: MemorySink) -> None:
    """A policy that names nobody takes from nobody."""
    api = await start(sink, senders=[])
    assert (await api.post(json.dumps(USAGE))).status == 403


@pytest.mark.parametrize("record", [BALANCE, CONTROL], ids=["balance", "control"])
async def test_a_gateway_cannot_raise_or_lift_limits(api: Api, sink: MemorySink, record: dict[str, Any]) -> None:
    """A leaked token of a gateway sends usage and nothing else; an operator's sends what it is allowed to."""
    reply = await api.post(json.dumps(record))
    assert (reply.status, reply.json["errors"][0]["reason"]) == (400, "wrong_topic")
    assert (await api.post(json.dumps(record), token=OPERATOR)).status == 200
    assert [parcel.topic for parcel in sink.parcels][1] in {"bd.balances", "bd.controls"}


async def test_nobody_moves_the_clock(api: Api) -> None:
    """Not even who may send everything."""
    reply = await api.post('{"type":"clock","ts":1786590480}', token=OPERATOR)
    assert reply.json["errors"][0]["reason"] == "wrong_topic"


@pytest.mark.parametrize("body", ["", " \n ", "[]", "\ufeff"], ids=["nothing", "white", "empty array", "BOM"])
async def test_a_body_without_records(api: Api, body: str) -> None:
    """400: the sender is mistaken."""
    assert (await api.post(body)).status == 400


@pytest.mark.parametrize("body", [b"[1, 2", b"[" * 100_000, b"[\xff]", b'[{"a":"\\u12"}]'])
async def test_an_array_that_is_none(api: Api, body: bytes) -> None:
    """400, however deep it is nested."""
    assert (await api.post(body)).status == 400


async def test_a_body_that_is_too_large(api: Api) -> None:
    """413, told by its length before it is read, or found out while it is."""
    assert (await api.post(b"x" * (LARGEST + 1))).status == 413

    async def pieces() -> Any:
        for _ in range(LARGEST // 65_536 + 1):
            yield b"x" * 65_536

    headers = {"Authorization": f"Bearer {OPERATOR}"}
    async with api.session.post(f"{api.url}/v1/events", data=pieces(), headers=headers) as response:
        assert response.status == 413


async def test_a_packed_body_is_unpacked_within_bounds(api: Api) -> None:
    """gzip is understood; what would unpack to a gigabyte is refused like any large body."""
    packed = gzip.compress(json.dumps(USAGE).encode())
    assert (await api.post(packed, Content_Encoding="gzip")).status == 200
    bomb = gzip.compress(b"[" + b" " * (200 << 20))
    assert (await api.post(bomb, Content_Encoding="gzip")).status in {400, 413}


async def test_too_many_records(api: Api, sink: MemorySink) -> None:
    """More than 5,000 in one request would keep everybody waiting."""
    assert (await api.post(json.dumps([usage(1)] * 5_001))).status == 413
    assert sink.parcels == []


async def test_a_record_that_is_too_large_spoils_only_itself(api: Api) -> None:
    """Over 256 KiB: an error of its own."""
    reply = await api.post(json.dumps([usage(1, note="x" * 262_144), usage(2)]))
    assert (reply.json["accepted"], reply.json["errors"][0]["reason"]) == (1, "too_large")


async def test_what_is_not_acknowledged_is_to_be_sent_again(api: Api, sink: MemorySink) -> None:
    """503 with the places of the records that are not safe; those that are count as accepted."""
    sink.lose = lambda parcel: parcel.key == b"u-2"
    reply = await api.post(json.dumps([usage(1), usage(2), usage(3)]))
    assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    assert reply.json["accepted"] == 2
    assert [(error["index"], error["reason"]) for error in reply.json["errors"]] == [(1, "unacknowledged")]


async def test_too_much_under_way_is_refused_for_now(api: Api, sink: MemorySink) -> None:
    """While Kafka is slow requests wait a little, then get 429; afterwards all goes on."""
    api.events._room = Room(most=1_000)
    acknowledged, under_way = asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        under_way.set()
        await acknowledged.wait()

    sink.before = slowly
    slow = asyncio.create_task(api.post(json.dumps(usage(1, note="x" * 800))))
    await under_way.wait()
    reply = await api.post(json.dumps(usage(2, note="x" * 800)))
    assert (reply.status, reply.headers["Retry-After"]) == (429, "1")
    acknowledged.set()
    assert (await slow).status == 200
    assert (await api.post(json.dumps(usage(3, note="x" * 800)))).status == 200
    assert api.events._room.taken == 0


async def test_room_is_given_in_turn() -> None:
    """Who waits gets in when another leaves; who asks for more than there is never does."""
    room = Room(most=10)
    await room.enter(8)
    waiting = asyncio.create_task(room.enter(8))
    await asyncio.sleep(0)
    await room.leave(8)
    await waiting
    with pytest.raises(FullError):
        await room.enter(11, patience=0.01)


async def test_requests_are_counted(api: Api) -> None:
    """By status and by what became of the records."""
    await api.post(json.dumps([usage(1), 5]))
    await api.post("[]", token="wrong")
    found = api.metrics.registry.get_sample_value
    assert found("blastdoor_http_events_total", {"outcome": "accepted"}) == 1
    assert found("blastdoor_http_events_total", {"outcome": "rejected"}) == 1
    assert found("blastdoor_http_requests_total", {"status": "401"}) == 1


async def test_usage_that_was_accepted_is_counted_apart(start: Start) -> None:
    """Only what a meter will read as an event, and only what is safe: no balance, no control, nothing rejected, blank
    or not acknowledged."""
    sink = MemorySink(lose=lambda parcel: parcel.key == b"u-2")
    api = await start(sink)
    body = [usage(1), usage(2), usage(3), BALANCE, CONTROL, REFUSAL, 5]
    reply = await api.post(json.dumps(body), token=OPERATOR)
    found = api.metrics.registry.get_sample_value
    assert reply.json["accepted"] == found("blastdoor_http_events_total", {"outcome": "accepted"}) == 5
    assert found("blastdoor_http_usage_total") == 2


async def test_what_was_accepted_is_what_a_meter_takes(api: Api, sink: MemorySink) -> None:
    """Of each event of usage that was accepted the meter makes one outcome, whatever it is, and of nothing else: the
    two counters compare like with like."""
    old, ahead = usage(2, ts="2001-01-01T00:00:00Z"), usage(3, ts="2031-01-01T00:00:00Z")
    body = [usage(1), usage(1), old, ahead, LITELLM, CLOUD, REFUSAL, BALANCE, CONTROL, 5]
    await api.post(json.dumps(body), token=OPERATOR)
    metrics, topics = Metrics(), Topics("bd")
    meter = Meter(topics, FactsTopic(topics.facts, 1), Policy(), metrics, event_clock=False, clock=lambda: AT)
    partition = await asyncio.to_thread(Partition, lambda: meter)
    for parcel in sink.parcels:
        if parcel.topic == topics.usage:
            partition.append(parcel.value, AT)
    partition.handle(len(partition.log))
    outcomes = {
        sample.labels["outcome"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "blastdoor_events_total"
    }
    assert outcomes == {"counted": 3, "duplicate": 1, "rejected": 2, "unusable": 0}
    assert api.metrics.registry.get_sample_value("blastdoor_http_usage_total") == sum(outcomes.values())


def test_a_token_is_in_no_text() -> None:
    """Neither in the sender's own text nor in rich's."""
    sender = Sender(name="litellm", token="s3cret-s3cret-s3cret")
    assert "s3cret" not in repr(sender) + str(sender) + str(sender.__rich_repr__())
