"""One HTTP POST, with every way it can fail told in words of ours: an exception's own text may hold the URL."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Self

import aiohttp

from rules.moment import Millis, from_datetime

TIMEOUT = 15.0
MOST_READ = 64 * 1024  # of an answer; ours are a few hundred bytes
LONGEST_WAIT = 3600.0  # a receiver may ask for more; an alert that is a day late helps nobody


@dataclass(frozen=True, slots=True)
class Reply:
    """What the receiver answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Trouble:
    """No answer, and why; `lasting` if the request itself cannot be sent."""

    what: str
    lasting: bool = False


TROUBLES: tuple[tuple[tuple[type[Exception], ...], Trouble], ...] = (
    ((aiohttp.ClientConnectorCertificateError,), Trouble("certificate not trusted")),
    ((aiohttp.ClientConnectorError,), Trouble("no connection")),
    (
        (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientPayloadError),
        Trouble("connection closed before the answer"),
    ),
    ((aiohttp.InvalidURL, ValueError), Trouble("the request cannot be sent, check the channel's URL", lasting=True)),
)


class Wire:
    """Posts bytes. The session is opened at the first use, inside the running loop."""

    def __init__(self, timeout: float = TIMEOUT) -> None:
        """`timeout`: seconds for the whole exchange."""
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, want_body: bool) -> Reply | Trouble:
        """One attempt, redirects not followed. Without `want_body` the status line alone is the answer."""
        try:
            async with self._open().post(url, data=body, headers=headers, allow_redirects=False) as response:
                content = await _bounded(response.content) if want_body else b""
                return Reply(response.status, dict(response.headers), content)
        except TimeoutError:
            return Trouble(f"no answer within {self._timeout:g} s")
        except (aiohttp.ClientError, ValueError) as error:
            return _trouble(error)

    async def close(self) -> None:
        """Gives the connections back; the next post would open new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # A kept connection that the receiver closes just then leaves open whether the alert arrived.
                connector=aiohttp.TCPConnector(force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
            )
        return self._session


def retry_after(headers: Mapping[str, str], now: Millis) -> float | None:
    """Seconds the receiver asks to wait: `Retry-After` (seconds or a date) or Feishu's `x-ogw-ratelimit-reset`."""
    known = {name.lower(): value for name, value in headers.items()}
    for name in ("retry-after", "x-ogw-ratelimit-reset"):
        seconds = _seconds(known.get(name, ""), now)
        if seconds is not None:
            return min(max(0.0, seconds), LONGEST_WAIT)
    return None


def _seconds(text: str, now: Millis) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return _until(text, now)
    return seconds if math.isfinite(seconds) else None


def _until(text: str, now: Millis) -> float | None:
    try:
        return (from_datetime(parsedate_to_datetime(text)) - now) / 1000
    except (ValueError, OverflowError):
        return None


def _trouble(error: Exception) -> Trouble:
    """The first that fits: the classes overlap, the narrow ones come first."""
    for kinds, trouble in TROUBLES:
        if isinstance(error, kinds):
            return trouble
    return Trouble(f"no usable answer ({type(error).__name__})")


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    read = bytearray()
    while len(read) < MOST_READ and (piece := await content.read(MOST_READ - len(read))):
        read += piece
    return bytes(read)
