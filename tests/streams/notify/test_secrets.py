"""Webhook URLs and secrets stay where they are used."""

from __future__ import annotations

import io
import json
import logging
import traceback
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from rich.console import Console

from rules.policy import Channel, Policy
from streams.channels.build import ChannelError, build_senders
from streams.channels.receiver import (
    CLOSES,
    FEISHU,
    GARBAGE,
    GONE,
    HANGS,
    THROTTLED,
    WEBHOOK,
    Misbehaviour,
    Receiver,
    busy,
)
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.notify import Notify


def secrets_of(channel: Channel) -> list[str]:
    """What must appear nowhere: the secret, the URL, its path, the token at its end."""
    path = urlsplit(channel.url).path
    return [channel.url, path, path.rpartition("/")[2], channel.secret, channel.secret.removeprefix("whsec_")]


def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    """Messages, arguments and tracebacks of all loggers."""
    for record in caplog.records:
        yield record.getMessage()
        yield repr(record.args)
        if record.exc_info:
            yield "".join(traceback.format_exception(*record.exc_info))


def echoes(channel: Channel, status: int) -> Misbehaviour:
    """A receiver that repeats our own secrets to us."""
    said = f"unknown hook {channel.url} with {channel.secret}"
    body = json.dumps({"code": 777, "msg": said}).encode()
    return Misbehaviour(status=status, body=body, headers={"X-Echo": channel.url})


@pytest.fixture
async def broken(receiver: Receiver, wire_quick: Wire) -> dict[str, Channel]:
    """Channels that fail in their own ways: nobody there, no TLS."""
    good = receiver.channel(WEBHOOK)
    token = good.url.rpartition("/")[2]
    urls = {
        "nobody": f"http://127.0.0.1:9/hooks/{token}",
        "tls": good.url.replace("http://", "https://"),
    }
    return {name: Channel(name=name, kind="webhook", url=url, secret=good.secret) for name, url in urls.items()}


@pytest.fixture
async def wire_quick():
    """HTTP with a short patience."""
    async with Wire(timeout=0.5) as wire:
        yield wire


async def test_no_failure_of_any_kind_shows_a_secret(
    *, start, receiver, quick, counts, make_alert, broken, wire_quick, caplog: pytest.LogCaptureFixture
) -> None:
    """Misbehaviour, nobody there, receivers that echo: logs, rows, counts and reprs hold no secret."""
    caplog.set_level(logging.DEBUG)
    channels = {kind: receiver.channel(kind) for kind in (FEISHU, WEBHOOK)} | broken
    receiver.plan(FEISHU, THROTTLED, HANGS, CLOSES, GARBAGE, busy(1), echoes(channels[FEISHU], 200))
    receiver.plan(WEBHOOK, HANGS, CLOSES, busy(1), echoes(channels[WEBHOOK], 500))
    senders = build_senders(channels, wire_quick, quick)
    loop = await start(senders=senders, send=tuple(channels))
    loop.offer(make_alert("a1"))
    done = {FEISHU, WEBHOOK}
    await loop.until(lambda: all(loop.outcomes().get("a1", {}).get(name, "waiting") != "waiting" for name in done))
    receiver.plan(WEBHOOK, GONE)
    loop.offer(make_alert("a2"))
    await loop.until(lambda: loop.outcomes().get("a2", {}).get(WEBHOOK) == "refused")
    await loop.notify.close()
    shown = [*everything_logged(caplog), *loop.table.values(), repr(counts.seen), repr(loop.notify), repr(senders)]
    assert any("777" in text for text in shown)  # the echo was met, and told
    for channel in channels.values():
        for secret in secrets_of(channel):
            assert not [text for text in shown if secret in text]


def test_a_channel_shows_its_name_and_kind_only(receiver) -> None:
    """Neither repr nor a rich traceback or pretty-print shows URL and secret, also inside a policy."""
    channel = Channel(name="f", kind="feishu", url="https://host/hook/url-token", secret="the-secret")
    policy = Policy(channels={"f": channel})
    printed = io.StringIO()
    Console(file=printed, width=200).print([channel, policy])
    for shown in (repr(channel), str(channel), repr(policy), printed.getvalue()):
        assert "url-token" not in shown
        assert "the-secret" not in shown
        assert "feishu" in shown


def test_an_operators_mistake_is_told_without_its_value() -> None:
    """The whole traceback of a refused channel, causes included, is free of secrets."""
    wire = Wire()
    for channel in (
        Channel(name="w", kind="webhook", url="https://host/url-token", secret="whsec_the/secret!"),
        Channel(name="w", kind="webhook", url="gopher://host/url-token", secret="the-secret"),
        Channel(name="w", kind="pager", url="https://host/url-token", secret="the-secret"),
    ):
        with pytest.raises(ChannelError) as caught:
            build_senders({"w": channel}, wire, Timing())
        told = "".join(traceback.format_exception(caught.value, chain=True))
        assert "url-token" not in told
        assert "secret!" not in told
        assert "the-secret" not in told.replace(channel.kind, "")


async def test_an_error_inside_a_sender_is_told_by_its_type(
    start, make_alert, caplog: pytest.LogCaptureFixture
) -> None:
    """An unforeseen exception may hold the URL in its text: only its type is logged."""

    class Faulty:
        name = "faulty"

        async def send(self, _: object) -> None:
            raise RuntimeError("https://host/hook/url-token")

    caplog.set_level(logging.DEBUG)
    loop = await start(senders={"faulty": Faulty()}, send=("faulty",))
    loop.offer(make_alert("a1"))
    await loop.until(lambda: "the sender failed (RuntimeError)" in loop.table.get("alert|a1", ""))
    await loop.notify.close()
    assert not [text for text in everything_logged(caplog) if "url-token" in text]
    assert isinstance(loop.notify, Notify)
