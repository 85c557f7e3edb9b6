"""Balances from anybody's own script: a file it writes or an address it serves, holding our own balance records.

    {"type":"balance","ts":"2026-08-13T11:22:00+08:00","model":"deepseek-v4-flash","available":1726526,"unit":"token"}

One record a line; `ts` is when the provider answered. `id` and `source` may be left out. One line that cannot be used
spoils its poll: half an answer is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from rules.intake.reader import Intake
from rules.moment import SECOND
from rules.providers.answer import Answer, Balance, Failure, permanent, temporary
from rules.records import Reading, Rejected
from streams.poll.body import LARGEST, bounded
from streams.poll.provider import Surroundings

PATIENCE_SECONDS = 20.0
_UNAUTHORIZED = frozenset({401, 403})


class FileDocument:
    """A file that a script replaces as a whole."""

    def __init__(self, path: Path, around: Surroundings) -> None:
        self._path = path
        self._around = around

    async def ask(self) -> Answer | Failure:
        """What the file holds now."""
        asked_at = self._around.clock()
        try:
            content = await asyncio.to_thread(self._read)
        except OSError as error:
            return temporary("Unreadable", f"{self._path}: {error.strerror}")
        return _answer(content, asked_at, self._around)

    async def close(self) -> None:
        """Nothing is kept open."""

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(LARGEST + 1)


class HttpDocument:
    """An address that answers a GET. The address may carry a secret, so no message repeats it."""

    def __init__(self, url: str, token: str, around: Surroundings) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._around = around

    async def ask(self) -> Answer | Failure:
        """One GET."""
        asked_at = self._around.clock()
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(self._url, headers=self._headers, allow_redirects=False) as response,
            ):
                content = await bounded(response)
        except TimeoutError:
            return temporary("Timeout", f"no answer within {PATIENCE_SECONDS:.0f} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return temporary(type(error).__name__, "no answer")
        if response.status in _UNAUTHORIZED:
            return permanent(f"HTTP {response.status}", "the address refuses the token")
        if response.status != 200:
            return temporary(f"HTTP {response.status}", retry_after=_retry_after(response))
        return _answer(content, asked_at, self._around)

    async def close(self) -> None:
        """Nothing is kept open."""


def _retry_after(response: aiohttp.ClientResponse) -> int:
    written = response.headers.get("Retry-After", "")
    return int(written) * SECOND if written.isascii() and written.isdigit() and len(written) < 6 else 0


def _answer(content: bytes, asked_at: int, around: Surroundings) -> Answer | Failure:
    at = around.clock()
    if len(content) > LARGEST:
        return temporary("TooLarge", f"more than {LARGEST:,} bytes")
    balances = []
    for number, record in enumerate(_records(content, Intake(around.zone)), start=1):
        if (wrong := _wrong(record, at)) or not isinstance(record, Reading):
            return temporary("BadRecord", f"record {number} {wrong}")
        balances.append(_balance(record))
    if len({balance.model for balance in balances}) < len(balances):
        return temporary("BadRecord", "two balances for one model")
    if not balances:
        return temporary("Empty", "no balance in it")
    return Answer(asked_at=min([asked_at, *(b.at or asked_at for b in balances)]), at=at, balances=tuple(balances))


def _wrong(record: object, at: int) -> str:
    if isinstance(record, Rejected):
        return f"cannot be used: {record.detail}"
    if not isinstance(record, Reading):
        return "is no balance"
    return "lies in the future" if record.at > at + SECOND else ""


def _records(content: bytes, intake: Intake) -> Iterable[Any]:
    for line in content.splitlines():
        if line.strip():
            yield intake.read(_with_id(line))


def _with_id(line: bytes) -> bytes:
    """Our records have an id; a script's need none, as the poller gives them its own."""
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return line
    return line if "id" in members else msgspec.json.encode(members | {"id": msgspec.Raw(b'"-"')})


def _balance(record: Reading) -> Balance:
    return Balance(
        model=record.model,
        available=record.available,
        packages=record.packages,
        settled_until=record.settled_until,
        at=record.at,
    )
