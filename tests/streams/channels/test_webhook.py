"""Standard Webhooks: signature, verdicts by status, and each way the other side can misbehave."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from rules.policy import Channel
from streams.channels.fitting import MOST_BYTES
from streams.channels.receiver import ANSWER_LOST, CLOSES, GONE, HANGS, WEBHOOK, Misbehaviour, busy
from streams.channels.sender import Result
from streams.channels.timing import Timing
from streams.channels.webhook import NEVER, Webhook, verdict
from streams.channels.wire import Reply

SECRET = "whsec_Ymxhc3Rkb29yLXN0YW5kYXJkLXdlYmhvb2sta2V5MDE="


@pytest.fixture
def sender(receiver, wire, quick) -> Webhook:
    """A sender to the local receiver."""
    return Webhook(receiver.channel(WEBHOOK), wire, quick)


def test_the_signature_is_that_of_the_standard(wire) -> None:
    """The known vector: id, timestamp and body joined by dots, keyed with the decoded secret."""
    channel = Channel(name="w", kind="webhook", url="http://127.0.0.1/", secret=SECRET)
    sender = Webhook(channel, wire, Timing())
    body = b'{"type":"blastdoor.alert.fired","timestamp":"2026-01-01T00:00:00Z","data":{"rule_id":"r1"}}'
    headers = sender._headers("msg_bd_0001", body, 1_700_000_000_000)
    assert headers["webhook-signature"] == "v1,2a30pY+63SkvGc8vYW601sAyhdp209fOz0TA6aZmYi8="
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_bd_0001", "1700000000")


async def test_an_alert_arrives_as_data_and_in_words(sender, receiver, make_note) -> None:
    """The verified event has a type, the time of the alert, its fields and its texts; unknown numbers are absent."""
    note = make_note("en", pool_high=None)
    assert (await sender.send(note)).result is Result.DELIVERED
    (arrival,) = receiver.arrivals
    data = arrival.body["data"]
    assert arrival.id == data["id"] == note.alert.id
    assert arrival.body["type"] == "blastdoor.alert.threshold"
    assert datetime.fromisoformat(arrival.body["timestamp"]) == datetime(2026, 8, 13, 3, 22, tzinfo=UTC)
    assert (data["scope"], data["used"], data["limit"], data["threshold"]) == (
        "model:deepseek-v4-flash",
        1_790_000,
        2_232_178,
        0.8,
    )
    assert "pool_high" not in data
    assert data["title"] == "Model deepseek-v4-flash has used 80% of its limit"
    assert data["money"]
    assert data["advice"]


async def test_all_attempts_have_one_id_and_their_own_time(sender, receiver, make_note) -> None:
    """The id is the alert's, so a receiver that got it and whose answer was lost can drop the repeat."""
    note = make_note()
    receiver.plan(WEBHOOK, ANSWER_LOST)
    assert (await sender.send(note)).result is Result.RETRY
    assert (await sender.send(note)).result is Result.DELIVERED
    assert [arrival.id for arrival in receiver.arrivals] == [note.alert.id] * 2


@pytest.mark.parametrize(
    ("misbehaviour", "detail", "throttled"),
    [
        pytest.param(HANGS, "no answer within 0.5 s", False, id="hangs"),
        pytest.param(CLOSES, "connection closed before the answer", False, id="closes"),
        pytest.param(Misbehaviour(status=500), "HTTP 500", False, id="HTTP 500"),
        pytest.param(busy(9), "HTTP 429", True, id="HTTP 429"),
        pytest.param(Misbehaviour(status=404), "HTTP 404", False, id="not deployed yet"),
    ],
)
async def test_no_failure_is_taken_for_success(*, misbehaviour, detail, throttled, sender, receiver, make_note) -> None:
    """Whatever is no 2xx and may pass is to be repeated."""
    receiver.plan(WEBHOOK, misbehaviour)
    sent = await sender.send(make_note())
    assert (sent.result, sent.detail, sent.throttled) == (Result.RETRY, detail, throttled)
    assert receiver.arrivals == []


async def test_a_redirect_is_a_failure_and_not_followed(sender, receiver, make_note) -> None:
    """A 3xx could lead the alert to a stranger: no second request is made."""
    elsewhere = receiver.channel(WEBHOOK).url
    receiver.plan(WEBHOOK, Misbehaviour(status=307, headers={"Location": elsewhere}))
    sent = await sender.send(make_note())
    assert (sent.result, sent.detail) == (Result.RETRY, "HTTP 307: redirects are not followed")
    assert len(receiver.requests) == 1
    assert receiver.arrivals == []


async def test_gone_closes_the_channel(sender, receiver, make_note) -> None:
    """410 says that the receiver wants nothing more."""
    receiver.plan(WEBHOOK, GONE)
    sent = await sender.send(make_note())
    assert (sent.result, sent.gone) == (Result.REFUSED, True)


@pytest.mark.parametrize("status", [429, 502, 504])
def test_retry_after_is_honoured(status: int) -> None:
    """A busy receiver says for how long."""
    found = verdict(Reply(status, {"Retry-After": "120"}, b""), 0)
    assert (found.result, found.after, found.throttled) == (Result.RETRY, 120.0, True)


@pytest.mark.parametrize("status", sorted(NEVER))
def test_a_clear_refusal_is_not_repeated(status: int) -> None:
    """By these statuses the receiver says that the same request will never do."""
    assert verdict(Reply(status, {}, b""), 0).result is Result.REFUSED


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success(status: int) -> None:
    """The status line alone decides; the body is not even read."""
    assert verdict(Reply(status, {}, b"garbage"), 0).result is Result.DELIVERED


async def test_an_endless_body_after_2xx_is_success(sender, receiver, make_note) -> None:
    """An accepted alert is not sent again because of what comes after the status."""
    receiver.plan(WEBHOOK, Misbehaviour(status=200, body=b"x" * 1_000_000, accepts=True))
    assert (await sender.send(make_note())).result is Result.DELIVERED


async def test_without_a_secret_nothing_is_signed(receiver, wire, quick, make_note) -> None:
    """The operator may leave the signature out; a strict receiver then refuses."""
    url = receiver.channel(WEBHOOK).url
    sender = Webhook(Channel(name="w", kind="webhook", url=url), wire, quick)
    assert "webhook-signature" not in sender._headers("id", b"{}", 0)
    assert (await sender.send(make_note())).result is Result.REFUSED


async def test_a_large_alert_is_shortened(sender, receiver, make_note) -> None:
    """The event keeps to 20 KB; the numbers stay."""
    note = make_note(reason="长" * 50_000, details={f"k{n}": "长" * 5_000 for n in range(30)})
    assert (await sender.send(note)).result is Result.DELIVERED
    body = receiver.arrivals[0].body
    assert len(json.dumps(body, ensure_ascii=False).encode()) <= MOST_BYTES + 1_000  # spaces of this dump
    assert body["data"]["used"] == 1_790_000
