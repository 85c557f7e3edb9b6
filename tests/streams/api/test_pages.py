"""The files of the usage page: all are served, none loads anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from aiohttp import ClientSession
from prometheus_client import CollectorRegistry

from streams.api import pages
from streams.api.server import serve
from streams.embedded.server import free_port

FILES = sorted((Path(pages.__file__).parent / "page").iterdir())


async def test_every_file_is_served_under_the_policy() -> None:
    """Each file has a route, its type, and headers that let the browser run and send nothing else."""
    address = f"127.0.0.1:{free_port()}"
    runner = await serve(address, CollectorRegistry(), lambda: True, pages.page_routes())
    try:
        async with ClientSession() as client:
            for file in FILES:
                path = "/usage" if file.name == "index.html" else f"/usage/{file.name}"
                async with client.get(f"http://{address}{path}") as got:
                    assert await got.read() == file.read_bytes()
                    assert got.content_type == pages.TYPES[file.suffix[1:]]
                    assert got.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
                    assert pages.HEADERS.items() <= dict(got.headers).items()
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_comes_from_elsewhere(file: Path) -> None:
    """No address of another host, no inline script or style; text never becomes markup."""
    source = file.read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", source)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\sstyle=|\son\w+=", source)
    assert not re.search(r"<script(?![^>]*src=)", source)


def test_both_languages_have_every_word() -> None:
    """What is said in one language is said in the other, with the same numbers in it."""
    source = (Path(pages.__file__).parent / "page" / "words.js").read_text(encoding="utf-8")
    english, chinese = re.findall(r"^  (?:en|zh): \{(.*?)^  \},", source, re.DOTALL | re.MULTILINE)
    words = [
        {word: sorted(re.findall(r"\{\d\}", text)) for word, text in re.findall(r'(\w+): "([^"]*)"', each)}
        for each in (english, chinese)
    ]
    assert words[0] == words[1]
    assert len(words[0]) > 50


def test_small_files() -> None:
    """Each is read in one sitting, and the page loads in an instant."""
    assert max(len(file.read_text(encoding="utf-8").splitlines()) for file in FILES) <= 400
    assert sum(file.stat().st_size for file in FILES) < 64 * 1024
