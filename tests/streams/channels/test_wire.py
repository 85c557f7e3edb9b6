"""Wishes to wait, and answers that never end."""

from __future__ import annotations

import asyncio

import pytest

from streams.channels.wire import LONGEST_WAIT, MOST_READ, Reply, Trouble, Wire, retry_after

NOW = 1_786_591_320_000  # Thu, 13 Aug 2026 03:22:00 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({"Retry-After": "30"}, 30.0, id="seconds"),
        pytest.param({"retry-after": "1.5"}, 1.5, id="any case, with a fraction"),
        pytest.param({"Retry-After": "Thu, 13 Aug 2026 03:23:00 GMT"}, 60.0, id="a date"),
        pytest.param({"Retry-After": "Thu, 13 Aug 2026 03:21:00 GMT"}, 0.0, id="a date in the past"),
        pytest.param({"Retry-After": "-5"}, 0.0, id="negative"),
        pytest.param({"Retry-After": "999999"}, LONGEST_WAIT, id="a week is too long"),
        pytest.param({"Retry-After": "inf"}, None, id="for ever"),
        pytest.param({"Retry-After": "nan"}, None, id="no number"),
        pytest.param({"Retry-After": "soon"}, None, id="garbage"),
        pytest.param({"Retry-After": "Thu, 99 Aug 2026 99:00:00 GMT"}, None, id="no such date"),
        pytest.param({"x-ogw-ratelimit-reset": "12"}, 12.0, id="Feishu's own header"),
        pytest.param({}, None, id="not said"),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds or a date, within reason; nonsense is as good as nothing."""
    assert retry_after(headers, NOW) == seconds


async def serve(answer: bytes, *, drip: bool = False) -> tuple[asyncio.Server, str]:
    """A server that answers every connection with these bytes, and with `drip` never stops."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        try:
            while drip:
                writer.write(b"x" * 65_536)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}/hook/token"


async def post(wire: Wire, answer: bytes, *, drip: bool = False) -> Reply | Trouble:
    """What becomes of one post to such a server."""
    server, url = await serve(answer, drip=drip)
    async with server:
        return await wire.post(url, b"{}", {}, want_body=True)


async def test_an_endless_answer_is_cut(wire) -> None:
    """No more than 64 KiB of an answer are read."""
    found = await post(wire, b"HTTP/1.1 200 OK\r\n\r\n", drip=True)
    assert isinstance(found, Reply)
    assert len(found.body) == MOST_READ


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="not HTTP"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", id="cut off"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzzzz", id="not what it says"
        ),
    ],
)
async def test_a_broken_answer_is_trouble_that_may_pass(answer: bytes, wire) -> None:
    """Garbage is no reason to crash, and none to give up."""
    found = await post(wire, answer)
    assert isinstance(found, Trouble)
    assert not found.lasting
    assert "127.0.0.1" not in found.what


async def test_no_connection_is_used_twice(wire) -> None:
    """A kept connection that closes just then would leave open whether an alert arrived."""
    connections = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while await reader.read(65_536):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        for _ in range(3):
            assert isinstance(await wire.post(url, b"{}", {}, want_body=True), Reply)
    assert connections == 3


async def test_a_url_that_cannot_be_asked_is_lasting_trouble(wire) -> None:
    """No attempt will ever succeed; the words do not repeat the URL."""
    found = await wire.post("http://exa mple:port/secret-token", b"", {}, want_body=False)
    assert found == Trouble("the request cannot be sent, check the channel's URL", lasting=True)
