"""Everything else through apprise, if it is installed: mail, Slack, Teams, DingTalk, Telegram, SMS …

It says yes or no and not why, so a no is tried again. It is imported when a channel asks for it, and not before.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from rules.alerts import Severity
from rules.policy import Channel
from streams.channels.layout import Message
from streams.channels.sender import Note, Sent

EXTRA = "blastdoor[apprise]"
PATIENCE = 60.0  # seconds; some of its services wait by themselves to keep a rate
MOST = 30
LONGEST = 4_000  # characters; services cut further where they must

KINDS = {Severity.INFO: "info", Severity.WARNING: "warning", Severity.CRITICAL: "failure"}


class Apprise:
    """Sends to one URL of apprise's."""

    most = MOST
    reports = True

    def __init__(self, channel: Channel) -> None:
        """Raises ValueError, without the URL in it, if apprise is not there or does not know this kind of URL."""
        self.name = channel.name
        self._service = _service(channel.url)

    def __repr__(self) -> str:
        return f"Apprise({self.name!r})"

    async def send(self, note: Note) -> Sent:
        """One attempt."""
        words = note.message
        arrived = await self._service.async_notify(
            title=words.title,
            body=body(words),
            notify_type="success" if words.good else KINDS[words.severity],
            body_format="text",
            timeout=PATIENCE,
        )
        return Sent.delivered() if arrived else Sent.retry("apprise could not deliver it", doubtful=True)


def body(words: Message) -> str:
    """The message as plain text, a paragraph for each heading."""
    clipped = words.clipped(LONGEST)
    lines = "\n".join(f"{line.label}{clipped.colon}{line.text}" for line in clipped.lines)
    sections = (f"{section.label}{clipped.colon}{section.text}" for section in clipped.sections)
    link = () if clipped.link is None else (clipped.link.text,)
    return "\n\n".join([lines, *sections, *link, clipped.foot])


def _service(url: str) -> Any:
    try:
        apprise = import_module("apprise")
    except ImportError:
        raise ValueError(f"needs apprise, which is not installed: pip install '{EXTRA}'") from None
    for name in ("apprise", "urllib3"):  # what they say of a failure can hold the URL
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    service = apprise.Apprise(asset=apprise.AppriseAsset(app_id="blastdoor", app_desc="blastdoor"))
    if not service.add(url):
        raise ValueError("is no URL that apprise knows")
    return service
