"""Senders from the policy."""

from __future__ import annotations

import sys

import pytest

from rules.policy import Channel
from streams.channels.alertmanager import Alertmanager
from streams.channels.apprise import Apprise
from streams.channels.build import ChannelError, build_senders
from streams.channels.feishu import Feishu
from streams.channels.timing import Timing
from streams.channels.webhook import Webhook

URL = "https://open.feishu.cn/open-apis/bot/v2/hook/very-secret-token"


def channel(**fields: str) -> Channel:
    """A channel named `c`."""
    return Channel(**({"name": "c", "kind": "feishu", "url": URL} | fields))


def test_each_kind_gets_its_sender(wire) -> None:
    """By name, as the channel's kind says."""
    kinds = {"feishu": Feishu, "webhook": Webhook, "alertmanager": Alertmanager, "apprise": Apprise}
    urls = {"apprise": "json://127.0.0.1:9/"}
    channels = {kind: channel(name=kind, kind=kind, url=urls.get(kind, URL)) for kind in kinds}
    senders = build_senders(channels, wire, Timing())
    assert {name: type(sender) for name, sender in senders.items()} == kinds


def test_without_apprise_its_channels_say_what_to_install(wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra: who has no such channel never misses it, who has one learns what is missing."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    build_senders({"f": channel(name="f")}, wire, Timing())
    with pytest.raises(ChannelError) as caught:
        build_senders({"c": channel(kind="apprise", url="mailto://user:very-secret-token@host")}, wire, Timing())
    assert "pip install 'blastdoor[apprise]'" in str(caught.value)
    assert "very-secret-token" not in str(caught.value)


def test_channels_of_one_bot_share_its_pace(wire) -> None:
    """The limits are the bot's: two names for one URL do not double them."""
    channels = {"a": channel(name="a"), "b": channel(name="b"), "other": channel(name="other", url=URL + "2")}
    senders = build_senders(channels, wire, Timing())
    assert senders["a"]._pace is senders["b"]._pace
    assert senders["a"]._pace is not senders["other"]._pace


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "carrier-pigeon"}, "channels.c.kind: unknown, known are feishu, webhook, alertmanager, apprise"),
        ({"kind": "apprise", "url": "very-secret-token"}, "channels.c.url: is no URL that apprise knows"),
        ({"kind": "alertmanager", "url": "very-secret-token"}, "channels.c.url: not an http or https URL"),
        ({"url": "ftp://host/very-secret-token"}, "channels.c.url: not an http or https URL"),
        ({"url": "very-secret-token"}, "channels.c.url: not an http or https URL"),
        ({"url": "http://host:port/very-secret-token"}, "channels.c.url: not an http or https URL"),
        ({"url": "http://ho st/very-secret-token"}, "channels.c.url: not an http or https URL"),
        ({"url": "http://[very-secret-token"}, "channels.c.url: not an http or https URL"),
        (
            {"kind": "webhook", "secret": "whsec_ä"},
            "channels.c.secret: the webhook's secret is not `whsec_` followed by base64",
        ),
        (
            {"kind": "webhook", "secret": "whsec_"},
            "channels.c.secret: the webhook's secret is not `whsec_` followed by base64",
        ),
    ],
)
def test_a_mistake_is_named_without_its_value(fields: dict[str, str], said: str, wire) -> None:
    """The operator learns channel and field; URL and secret are repeated nowhere."""
    with pytest.raises(ChannelError) as caught:
        build_senders({"c": channel(**fields)}, wire, Timing())
    assert str(caught.value) == said
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
