"""A webhook by the Standard Webhooks convention: signed, one id for all attempts, judged by the HTTP status."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime
from typing import Any

import msgspec
from standardwebhooks.webhooks import EmptyWebhookSecretError
from standardwebhooks.webhooks import Webhook as Signer

from rules.alerts import Alert
from rules.moment import EARLIEST, LATEST, Millis, to_rfc3339
from rules.policy import Channel
from streams.channels.fitting import fitted
from streams.channels.layout import Message
from streams.channels.messages import MOST_DETAILS
from streams.channels.redaction import plain
from streams.channels.sender import Note, Sent
from streams.channels.timing import Timing
from streams.channels.wire import Reply, Trouble, Wire, retry_after

GONE = 410
MOST_BOOKS = 20  # of a digest, the most used first; the words below tell ten more and the rest together
BUSY = {429, 502, 503, 504}
# By these a receiver says that this request will never do. Others may pass: 404 while it is deployed, redirects, 5xx.
NEVER = {400, 401, 403, 405, 406, 411, 413, 414, 415, 422, 451, 501}


class Webhook:
    """Posts to one URL, an alert a request. Without a secret the request carries no signature."""

    most = 1
    reports = True

    def __init__(self, channel: Channel, wire: Wire, timing: Timing) -> None:
        """Raises ValueError, without the secret in it, if the secret is not `whsec_` and base64."""
        self.name = channel.name
        self._url = channel.url
        self._signer = _signer(channel.secret) if channel.secret else None
        self._wire = wire
        self._timing = timing

    def __repr__(self) -> str:
        return f"Webhook({self.name!r})"

    async def send(self, note: Note) -> Sent:
        """One attempt."""
        now = self._timing.now()
        body = fitted(lambda clip: payload(note.alert, note.message, clip))
        answer = await self._wire.post(self._url, body, self._headers(note.alert.id, body, now), want_body=False)
        if isinstance(answer, Trouble):
            return Sent.refused(answer.what) if answer.lasting else Sent.retry(answer.what)
        return verdict(answer, now)

    def _headers(self, alert_id: str, body: bytes, now: Millis) -> dict[str, str]:
        # The library reads the wall-clock fields and calls them UTC, so the datetime must be in UTC.
        at = datetime.fromtimestamp(now // 1000, tz=UTC)
        headers = {"Content-Type": "application/json", "webhook-id": alert_id, "webhook-timestamp": str(now // 1000)}
        if self._signer is not None:
            headers["webhook-signature"] = self._signer.sign(alert_id, at, body.decode())
        return headers


def payload(alert: Alert, message: Message, clip: int) -> dict[str, Any]:
    """The event: the alert's fields as data, and the same in words. Unknown numbers are left out."""
    return {
        "type": f"blastdoor.alert.{alert.kind}",
        "timestamp": to_rfc3339(min(max(alert.at, EARLIEST), LATEST)),
        "data": {**_fields(alert, clip), **_words(message.clipped(clip))},
    }


def verdict(reply: Reply, now: Millis) -> Sent:
    """What a status means."""
    detail = f"HTTP {reply.status}"
    if 200 <= reply.status < 300:
        return Sent.delivered()
    if reply.status == GONE:
        return Sent.refused(f"{detail}: the receiver wants no more", gone=True)
    if reply.status in NEVER:
        return Sent.refused(detail)
    if 300 <= reply.status < 400:
        return Sent.retry(f"{detail}: redirects are not followed")
    return Sent.retry(detail, after=retry_after(reply.headers, now), throttled=reply.status in BUSY)


def _fields(alert: Alert, clip: int) -> dict[str, Any]:
    known: dict[str, Any] = {name: value for name, value in msgspec.to_builtins(alert).items() if value is not None}
    details = list(alert.details.items())[:MOST_DETAILS]
    known["details"] = {plain(name, clip): plain(value, clip) for name, value in details}
    books = known.pop("books")[:MOST_BOOKS]
    if books:
        known["books"] = [book | {"scope": plain(book["scope"], clip)} for book in books]
    return {name: plain(value, clip) if isinstance(value, str) else value for name, value in known.items()}


def _words(message: Message) -> dict[str, Any]:
    return {
        "language": message.language,
        "title": message.title,
        "lines": [f"{line.label}{message.colon}{line.text}" for line in message.lines],
        "money": message.sections[0].text,
        "advice": message.sections[1].text,
    }


def _signer(secret: str) -> Signer:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        return Signer(key)
    except (binascii.Error, ValueError, EmptyWebhookSecretError):
        pass  # raised anew below: the library's own message could hold the secret
    raise ValueError("the webhook's secret is not `whsec_` followed by base64")
