"""Reading an HTTP answer in bounded memory."""

from __future__ import annotations

import aiohttp

LARGEST = 4 * 1024 * 1024
"""A page of packages has some 20 KB."""


async def bounded(response: aiohttp.ClientResponse, most: int = LARGEST) -> bytes:
    """The body, or its beginning with at least one byte more than `most`."""
    content = bytearray()
    async for piece in response.content.iter_chunked(64 * 1024):
        content += piece
        if len(content) > most:
            break
    return bytes(content)
