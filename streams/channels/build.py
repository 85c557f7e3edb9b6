"""Senders from the policy's channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from rules.policy import Channel
from rules.policy_check.delivery import KINDS
from streams.channels.alertmanager import Alertmanager
from streams.channels.apprise import Apprise
from streams.channels.feishu import GAP, Feishu
from streams.channels.sender import Sender
from streams.channels.timing import Pace, Timing
from streams.channels.webhook import Webhook
from streams.channels.wire import Wire


class ChannelError(ValueError):
    """A channel that the operator must correct; names the channel and the field, never its value."""


def build_senders(channels: Mapping[str, Channel], wire: Wire, timing: Timing) -> dict[str, Sender]:
    """A sender per channel, by name. Raises ChannelError for what cannot work."""
    paces = {url: Pace(GAP, timing) for url in _bots(channels.values())}
    return {name: _sender(channel, wire, timing, paces) for name, channel in channels.items()}


def _bots(channels: Iterable[Channel]) -> set[str]:
    """The limits are per bot: channels with the same URL share them."""
    return {channel.url for channel in channels if channel.kind == "feishu"}


def _sender(channel: Channel, wire: Wire, timing: Timing, paces: Mapping[str, Pace]) -> Sender:
    if channel.kind == "apprise":
        return _named(channel, "url", lambda: Apprise(channel))
    _check_url(channel)
    if channel.kind == "feishu":
        return Feishu(channel, wire, paces[channel.url], timing)
    if channel.kind == "webhook":
        return _named(channel, "secret", lambda: Webhook(channel, wire, timing))
    if channel.kind == "alertmanager":
        return Alertmanager(channel, wire, timing)
    raise ChannelError(f"channels.{channel.name}.kind: unknown, known are {', '.join(KINDS)}")


def _named(channel: Channel, field: str, build: Callable[[], Sender]) -> Sender:
    try:
        return build()
    except ValueError as error:
        raise ChannelError(f"channels.{channel.name}.{field}: {error}") from None


def _check_url(channel: Channel) -> None:
    try:
        parts = urlsplit(channel.url)
        spaced = any(character.isspace() for character in channel.url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not spaced
    except ValueError:
        good = False
    if not good:
        raise ChannelError(f"channels.{channel.name}.url: not an http or https URL")
