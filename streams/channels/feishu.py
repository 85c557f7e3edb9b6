"""A Feishu custom bot: a signed card per alert, judged by the answer's `code`: errors come with HTTP 200 too."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from rules.moment import Millis
from rules.policy import Channel
from streams.channels.cards import card
from streams.channels.fitting import fitted
from streams.channels.redaction import scrub, url_secrets
from streams.channels.sender import Note, Result, Sent
from streams.channels.timing import Pace, Timing
from streams.channels.wire import Reply, Trouble, Wire, retry_after

# 100 requests a minute and 5 a second are allowed. Evenly spaced the first implies the second; 5 % is for delays.
GAP = 60 / 100 * 1.05

BUSY = {11232: "rate limited", 11220: "too many requests", 99991400: "rate limited"}
UNWELL = {2200: "internal error"}
REFUSALS = {
    19001: "the webhook's token is not valid",
    19002: "bad parameter",
    19022: "our address is not on the bot's list",
    19024: "none of the bot's keywords in the text",
    19036: "body too large",
}
MALFORMED = 9499  # "bad request" by the documentation, "too many request" in practice
BAD_SIGNATURE = 19021

HEADERS = {"Content-Type": "application/json; charset=utf-8"}

MOST = 30  # alerts in one card: a line each, within the 20 KB of a request whatever their names


def signature(timestamp: str, secret: str) -> str:
    """HMAC-SHA256 over nothing, with the timestamp and the secret as key; base64. `timestamp`: seconds, as text."""
    key = f"{timestamp}\n{secret}".encode()
    return base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()


class Feishu:
    """Sends to one bot. Two channels with the same bot must share its `pace`."""

    most = MOST
    reports = True

    def __init__(self, channel: Channel, wire: Wire, pace: Pace, timing: Timing) -> None:
        self.name = channel.name
        self._channel = channel
        self._wire = wire
        self._pace = pace
        self._timing = timing

    def __repr__(self) -> str:
        return f"Feishu({self.name!r})"

    async def send(self, note: Note) -> Sent:
        """One attempt. A rejected signature is tried once more with a fresh timestamp: the first may have grown old."""
        sent, code = await self._attempt(note)
        if code == BAD_SIGNATURE:
            sent, code = await self._attempt(note)
        if code == BAD_SIGNATURE:
            return Sent.refused(f"code {code}: wrong secret, or a clock more than an hour off")
        return sent

    async def _attempt(self, note: Note) -> tuple[Sent, int | None]:
        await self._pace.turn()
        now = self._timing.now()
        answer = await self._wire.post(self._channel.url, self._body(note, now), HEADERS, want_body=True)
        if isinstance(answer, Trouble):
            return (Sent.refused(answer.what) if answer.lasting else Sent.retry(answer.what)), None
        return self._judge(answer, now)

    def _body(self, note: Note, now: Millis) -> bytes:
        signed: dict[str, Any] = {}
        if self._channel.secret:
            timestamp = str(now // 1000)
            signed = {"timestamp": timestamp, "sign": signature(timestamp, self._channel.secret)}
        kind = {"msg_type": "interactive"}
        return fitted(lambda clip: signed | kind | {"card": card(note.message.clipped(clip), self._channel.schema)})

    def _judge(self, reply: Reply, now: Millis) -> tuple[Sent, int | None]:
        code, said = read_code(reply.body)
        after = retry_after(reply.headers, now)
        if reply.status == 429 or reply.status >= 500:
            return Sent.retry(f"HTTP {reply.status}", after=after, throttled=True), None
        if code is None:
            return Sent.retry(f"HTTP {reply.status} without a code", doubtful=True), None
        if code == 0 and reply.status != 200:
            return Sent.retry(f"HTTP {reply.status} with code 0"), None
        return verdict(code, scrub(said, self._secrets()), after), code

    def _secrets(self) -> list[str]:
        return [self._channel.secret, *url_secrets(self._channel.url)]


def read_code(body: bytes) -> tuple[int | None, str]:
    """The answer's `code` (older answers: `StatusCode`) and message; None where there is neither."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None, ""
    if not isinstance(found, dict):
        return None, ""
    for code, said in (("code", "msg"), ("StatusCode", "StatusMessage")):
        if code in found:
            number = found[code]
            return (number if type(number) is int else None), str(found.get(said, ""))
    return None, ""


def verdict(code: int, said: str, after: float | None) -> Sent:
    """What a code means. An unknown one is tried again: better late than lost."""
    if code == 0:
        return Sent.delivered()
    if code in BUSY or (code == MALFORMED and "too many" in said.lower()):
        return Sent.retry(f"code {code}: {BUSY.get(code, 'too many requests')}", after=after, throttled=True)
    if code in REFUSALS or code == MALFORMED:
        return Sent(Result.REFUSED, f"code {code}: {REFUSALS.get(code, 'malformed request')}")
    unwell = UNWELL.get(code)
    return Sent.retry(f"code {code}: {unwell or said or 'unknown'}", after=after, doubtful=unwell is None)
