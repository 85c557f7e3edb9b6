"""Anybody's own script, as a file or an address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from rules.providers.answer import Answer, Failure, Trouble, readings
from streams.poll.document import FileDocument, HttpDocument
from streams.poll.provider import Surroundings

GOOD = b'{"type":"balance","ts":"2026-11-29T22:58:00Z","model":"flash","available":5,"unit":"token"}\n'


async def ask(around: Surroundings, content: bytes) -> Answer | Failure:
    path: Path = around.folder / "balances.jsonl"
    path.write_bytes(content)  # noqa: ASYNC240  a few bytes
    return await FileDocument(path, around).ask()


async def test_a_record_is_a_reading_of_its_own_time(around: Surroundings) -> None:
    """`ts` is when the provider answered, not when the file was read; id and source are the poller's."""
    answer = await ask(around, GOOD)
    assert isinstance(answer, Answer)
    (reading,) = readings("own", answer)
    assert (reading.model, reading.available, reading.source) == ("flash", 5, "own")
    assert reading.at == reading.asked_at == 1_795_993_080_000
    assert reading.id == "own/flash/2026-11-29T22:58:00.000+00:00"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "Empty"),
        (b"\n\n", "Empty"),
        (GOOD + b"{}", "BadRecord"),
        (GOOD + GOOD, "BadRecord"),
        (GOOD.replace(b'"token"', b'"CNY"'), "BadRecord"),
        (GOOD.replace(b"22:58", b"23:58"), "BadRecord"),
        (GOOD.replace(b":5,", b":-5,"), "BadRecord"),
        (b'{"type":"usage","ts":1795993080,"model":"m","total_tokens":5}', "BadRecord"),
        (b"\xff", "BadRecord"),
        (b"x" * (4 << 20) + b"x", "TooLarge"),
    ],
)
async def test_half_an_answer_is_none(around: Surroundings, content: bytes, code: str) -> None:
    """One record that cannot be used spoils the poll; a foreign unit and a missing balance are never zero."""
    answer = await ask(around, content)
    assert isinstance(answer, Failure)
    assert (answer.code, answer.trouble) == (code, Trouble.TEMPORARY)


async def test_a_missing_file_is_waited_for(around: Surroundings) -> None:
    """The script may be about to write it."""
    answer = await FileDocument(around.folder / "nothing", around).ask()
    assert isinstance(answer, Failure)
    assert answer.code == "Unreadable"


@pytest.fixture
async def script() -> AsyncIterator[str]:
    """An address whose path says how it answers."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Bearer t0ken":
            return web.Response(status=401)
        status = int(request.match_info["status"])
        return web.Response(status=status, body=GOOD, headers={"Retry-After": "7"})

    application = web.Application()
    application.router.add_get("/{status}", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    await runner.cleanup()


async def test_an_address_is_asked_with_its_token(script: str, around: Surroundings) -> None:
    """200 with records is an answer."""
    answer = await HttpDocument(f"{script}/200", "t0ken", around).ask()
    assert isinstance(answer, Answer)
    assert answer.balances[0].available == 5


async def test_a_refused_token_is_permanent(script: str, around: Surroundings) -> None:
    """Asking again with it cannot help."""
    answer = await HttpDocument(f"{script}/200", "wrong", around).ask()
    assert isinstance(answer, Failure)
    assert (answer.trouble, answer.code) == (Trouble.PERMANENT, "HTTP 401")
    assert "wrong" not in str(answer)


@pytest.mark.parametrize("status", [302, 404, 429, 500, 503])
async def test_any_other_status_is_no_reading(script: str, around: Surroundings, status: int) -> None:
    """Whatever the body says, and with the patience that was asked for."""
    answer = await HttpDocument(f"{script}/{status}", "t0ken", around).ask()
    assert isinstance(answer, Failure)
    assert (answer.code, answer.retry_after) == (f"HTTP {status}", 7_000)


async def test_an_address_where_nobody_listens(around: Surroundings) -> None:
    """A temporary failure that does not repeat the address, which may carry a secret."""
    answer = await HttpDocument("http://127.0.0.1:1/s3cret", "", around).ask()
    assert isinstance(answer, Failure)
    assert "s3cret" not in str(answer)
