"""A Feishu custom bot: signature, verdicts, and each way the other side can misbehave."""

from __future__ import annotations

import json

import pytest

from rules.policy import Channel
from streams.channels.feishu import GAP, REFUSALS, Feishu, read_code, signature, verdict
from streams.channels.receiver import (
    ANSWER_LOST,
    CLOSES,
    FEISHU,
    GARBAGE,
    HANGS,
    THROTTLED,
    TOO_MANY,
    TOO_MANY_200,
    Misbehaviour,
    Receiver,
    busy,
)
from streams.channels.sender import Result
from streams.channels.timing import Pace, Timing


@pytest.fixture
def sender(receiver, wire, quick) -> Feishu:
    """A sender to the local receiver."""
    return Feishu(receiver.channel(FEISHU), wire, Pace(GAP, quick), quick)


def test_the_signature_is_that_of_the_documentation() -> None:
    """Key is timestamp, line break, secret; the signed text is empty."""
    found = signature("1700000000", "blastdoor-test-secret")
    assert found == "kJNoqTraJHLfgCY2nWXf82PhxRz4/kgiSLW5qP3MseA="


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b'{"code":0,"msg":"success","data":{}}', 0, id="new"),
        pytest.param(b'{"StatusCode":0,"StatusMessage":"success"}', 0, id="old"),
        pytest.param(b'{"code":19024,"StatusCode":0}', 19024, id="code wins over StatusCode"),
        pytest.param(b"{}", None, id="neither is a failure"),
        pytest.param(b'{"code":"0"}', None, id="text is no code"),
        pytest.param(b'{"code":false}', None, id="false is no code"),
        pytest.param(b"<html>", None, id="no JSON"),
        pytest.param(b"[0]", None, id="no object"),
        pytest.param(b"", None, id="nothing"),
        pytest.param(b"\xff\xfe", None, id="no text"),
        pytest.param(b"[" * 100_000, None, id="too deep"),
    ],
)
def test_only_a_code_of_zero_is_success(body: bytes, code: int | None) -> None:
    """The answer is judged by `code`, by `StatusCode` where there is none, and fails without either."""
    assert read_code(body)[0] == code


@pytest.mark.parametrize(
    ("code", "said", "result", "throttled"),
    [
        (0, "success", Result.DELIVERED, False),
        (11232, "frequency limited", Result.RETRY, True),
        (11220, "", Result.RETRY, True),
        (2200, "internal error", Result.RETRY, False),
        (9499, "too many request", Result.RETRY, True),
        (9499, "Bad Request", Result.REFUSED, False),
        (123456, "who knows", Result.RETRY, False),
        *((code, "", Result.REFUSED, False) for code in REFUSALS),
    ],
)
def test_what_each_code_means(code: int, said: str, result: Result, throttled: bool) -> None:
    """Busy pauses the channel, a lasting fault is refused, the unknown is tried again."""
    found = verdict(code, said, None)
    assert (found.result, found.throttled) == (result, throttled)


@pytest.mark.parametrize("schema", ["1.0", "2.0"])
async def test_a_card_arrives(schema: str, receiver, wire, quick, make_note) -> None:
    """A signed card of either format is accepted by the strict receiver."""
    sender = Feishu(receiver.channel(FEISHU, schema=schema), wire, Pace(GAP, quick), quick)
    note = make_note()
    assert (await sender.send(note)).result is Result.DELIVERED
    assert [arrival.id for arrival in receiver.arrivals] == [note.alert.id]


@pytest.mark.parametrize(
    ("misbehaviour", "detail", "throttled", "arrives"),
    [
        pytest.param(THROTTLED, "code 11232: rate limited", True, False, id="throttled with HTTP 200"),
        pytest.param(TOO_MANY, "code 9499: too many requests", True, False, id="9499 with HTTP 400"),
        pytest.param(TOO_MANY_200, "code 9499: too many requests", True, False, id="9499 with HTTP 200"),
        pytest.param(HANGS, "no answer within 0.5 s", False, False, id="hangs"),
        pytest.param(CLOSES, "connection closed before the answer", False, False, id="closes"),
        pytest.param(GARBAGE, "HTTP 200 without a code", False, False, id="garbage"),
        pytest.param(busy(7), "HTTP 429", True, False, id="HTTP 429"),
        pytest.param(Misbehaviour(status=503), "HTTP 503", True, False, id="HTTP 503"),
        pytest.param(
            Misbehaviour(status=302, headers={"Location": "/"}), "HTTP 302 without a code", False, False, id="redirect"
        ),
        pytest.param(
            Misbehaviour(status=400, body=b'{"code":0}'), "HTTP 400 with code 0", False, False, id="400 with 0"
        ),
        pytest.param(ANSWER_LOST, "connection closed before the answer", False, True, id="answer lost"),
    ],
)
async def test_no_failure_is_taken_for_success(
    *, misbehaviour, detail, throttled, arrives, sender, receiver, make_note
) -> None:
    """Whatever the other side does but accept and say so, the attempt is to be repeated, for a reason."""
    receiver.plan(FEISHU, misbehaviour)
    sent = await sender.send(make_note())
    assert (sent.result, sent.detail, sent.throttled) == (Result.RETRY, detail, throttled)
    assert bool(receiver.arrivals) == arrives
    assert (await sender.send(make_note())).result is Result.DELIVERED


async def test_the_wish_to_wait_is_passed_on(sender, receiver, make_note) -> None:
    """`Retry-After` comes back as seconds."""
    receiver.plan(FEISHU, busy(7))
    assert (await sender.send(make_note())).after == 7


async def test_an_old_signature_gets_one_fresh_timestamp(sender, receiver, make_note) -> None:
    """19021 is tried again at once, with a new timestamp."""
    receiver.plan(FEISHU, Misbehaviour(body=b'{"code":19021,"msg":"sign match fail"}'))
    assert (await sender.send(make_note())).result is Result.DELIVERED
    assert len(receiver.requests) == 2


class CountedPace(Pace):
    """A pace that remembers how often it was asked."""

    turns = 0

    async def turn(self) -> None:
        self.turns += 1
        await super().turn()


async def test_every_request_waits_for_its_turn(receiver, wire, quick, make_note) -> None:
    """The bot's limits count requests, so the second attempt of a signature waits as well."""
    pace = CountedPace(GAP, quick)
    sender = Feishu(receiver.channel(FEISHU), wire, pace, quick)
    receiver.plan(FEISHU, Misbehaviour(body=b'{"code":19021,"msg":"sign match fail"}'))
    await sender.send(make_note())
    await sender.send(make_note())
    assert pace.turns == len(receiver.requests) == 3


async def test_a_wrong_secret_is_refused_after_two_attempts(receiver, wire, quick, make_note) -> None:
    """A signature that never matches is not sent for ever."""
    channel = receiver.channel(FEISHU)
    wrong = Channel(name="f", kind="feishu", url=channel.url, secret="another-secret")
    sent = await Feishu(wrong, wire, Pace(GAP, quick), quick).send(make_note())
    assert sent.result is Result.REFUSED
    assert "wrong secret" in sent.detail
    assert len(receiver.requests) == 2


async def test_a_clock_an_hour_off_is_refused(receiver, wire, quick, make_note) -> None:
    """The timestamp must be within 3,600 s of the receiver's time."""
    late = Timing(lambda: quick.now() - 3_700_000, quick.monotonic, quick.sleep, quick.random)
    sent = await Feishu(receiver.channel(FEISHU), wire, Pace(GAP, quick), late).send(make_note())
    assert sent.result is Result.REFUSED


async def test_a_bot_without_a_secret_gets_no_signature(receiver, wire, quick, make_note) -> None:
    """Signing is the bot's option: without a secret the body holds neither timestamp nor sign."""
    channel = receiver.channel(FEISHU)
    unsigned = Feishu(Channel(name="f", kind="feishu", url=channel.url), wire, Pace(GAP, quick), quick)
    assert {"timestamp", "sign"}.isdisjoint(json.loads(unsigned._body(make_note(), quick.now())))
    assert (await unsigned.send(make_note())).result is Result.REFUSED  # this bot demands one


async def test_a_missing_keyword_is_refused(wire, quick, make_note) -> None:
    """A bot with keywords posts only texts that hold one; ours always hold the product's name."""
    for keyword, result in (("blastdoor", Result.DELIVERED), ("weather", Result.REFUSED)):
        async with Receiver(keyword=keyword) as receiver:
            sender = Feishu(receiver.channel(FEISHU), wire, Pace(GAP, quick), quick)
            assert (await sender.send(make_note())).result is result


async def test_a_wrong_token_is_refused(receiver, wire, quick, make_note) -> None:
    """A bot that does not exist is not asked again and again."""
    channel = receiver.channel(FEISHU)
    wrong = Channel(name="f", kind="feishu", url=channel.url + "x", secret=channel.secret)
    sent = await Feishu(wrong, wire, Pace(GAP, quick), quick).send(make_note())
    assert (sent.result, sent.detail) == (Result.REFUSED, "code 19001: the webhook's token is not valid")


async def test_nobody_listening_is_worth_another_attempt(wire, quick, make_note) -> None:
    """A receiver that is down comes back."""
    async with Receiver() as gone:
        channel = gone.channel(FEISHU)
    sent = await Feishu(channel, wire, Pace(GAP, quick), quick).send(make_note())
    assert (sent.result, sent.detail) == (Result.RETRY, "no connection")
