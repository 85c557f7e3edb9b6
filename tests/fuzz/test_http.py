"""Whatever is sent to the HTTP port: it is answered or hung up on, and the next request is served."""

from __future__ import annotations

import asyncio
import json
import random

from tests.fuzz.conftest import SAMPLES, TOKENS
from tests.streams.api.conftest import GATEWAY, Api, MemorySink, Start
from tests.streams.api.test_events import usage

HEAD = f"POST /v1/events HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {GATEWAY}\r\n".encode()


def request(chance: random.Random) -> bytes:
    """A request that may be one."""
    body = b"\n".join(chance.choices(SAMPLES, k=chance.randrange(4)))
    length = chance.choice([len(body), len(body), 0, len(body) + 7, -1, 10**12])
    framing = chance.choice(
        [b"Content-Length: %d\r\n" % length, b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: gzip\r\n"]
    )
    whole = bytearray(HEAD + framing + b"\r\n" + body)
    for _ in range(chance.randrange(6)):
        place = chance.randrange(len(whole))
        whole[place : place + chance.randrange(4)] = chance.choice(TOKENS)[:40]
    return bytes(whole)


async def send(port: int, content: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(content)
        writer.write_eof()
        async with asyncio.timeout(10):
            return await reader.read(65_536)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_raw_requests(start: Start, sink: MemorySink) -> None:
    """Five hundred of them: never a 500, never silence, and afterwards all is as before."""
    api: Api = await start(sink)
    port, chance = int(api.url.rpartition(":")[2]), random.Random(7)
    for _ in range(500):
        answer = await send(port, request(chance))
        assert not answer.startswith(b"HTTP/1.1 5"), answer[:300]
    assert (await api.post(json.dumps(usage(1)))).status == 200
    assert api.events._room.taken == 0
