"""Chart, table, download and ledger have the same sums, however rows are called."""

from __future__ import annotations

import asyncio
import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.chromium import PATIENCE, Page
from tests.streams.api.page.conftest import (
    DEPARTMENTS,
    EMOJI,
    FORMULA,
    RTL,
    SCRIPT,
    Opened,
    Site,
    decision,
    ledger,
    rollups,
)

pytestmark = pytest.mark.chromium

SUMS = """({
  pie: [...document.querySelectorAll('#figure .piece')].map((piece) => Number(piece.dataset.tokens)),
  rows: [...document.querySelectorAll('#table tbody tr')].map((row) => Number(row.dataset.tokens)),
  total: Number(document.querySelector('#table tfoot tr').dataset.tokens),
  names: [...document.querySelectorAll('#table tbody bdi')].map((name) => name.textContent),
  words: document.querySelector('#figure desc').textContent,
})"""


def only_file(directory: Path) -> tuple[str, bytes]:
    """Name and content of what was downloaded."""
    (file,) = directory.iterdir()
    return file.name, file.read_bytes()


async def by(page: Page, dimension: str) -> dict[str, Any]:
    """The sums once the page shows this dimension."""
    await page.choose("by", dimension)
    await page.until(f"at('usage-heading').dataset.by === '{dimension}' && !at('main').hasAttribute('aria-busy')")
    found: dict[str, Any] = await page.evaluate(SUMS)
    return found


async def test_pie_table_and_ledger_agree(site: Site, opened: Opened) -> None:
    """By each dimension the pieces add up to the rows, to the total and to what was used."""
    calls = ledger()
    site.kept = rollups(calls)
    used = sum(call.total_tokens for call in calls)
    page = await opened()
    for dimension, rows in {"department": 12, "user": 5, "knowledge_base": 2, "model": 3, "day": 2}.items():
        found = await by(page, dimension)
        assert sum(found["pie"]) == sum(found["rows"]) == found["total"] == used
        assert len(found["rows"]) == rows
        assert len(found["words"].split(";")) <= 8 or dimension == "day"
    columns = (await by(page, "day"))["pie"]
    assert columns[-3:] == [used // 2, 0, used // 2]
    assert len(columns) == 13
    assert page.faults == []


async def test_any_name_is_text(site: Site, opened: Opened) -> None:
    """Markup, formulas, newlines, emoji by the thousand and text that runs backwards are shown as they are, and change
    neither the document nor its width."""
    site.kept, site.decisions = rollups(ledger()), {"tenant:acme": decision(900, daily_tokens=1_000)}
    page = await opened()
    names = (await by(page, "department"))["names"]
    assert {FORMULA, SCRIPT[:20], EMOJI[:20], RTL, "法务部", "other", "(unassigned)"} <= {
        cut for name in names for cut in (name, name[:20])
    }
    assert len(names) == len(DEPARTMENTS)
    assert await page.evaluate("document.title") == "Usage"
    assert await page.evaluate("document.querySelectorAll('main img, main script, main a').length") == 0
    for width in (1280, 640, 320):  # 100 %, 200 % and 400 % zoom of a window of 1,280
        await page.resize(width)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.faults == []


@pytest.mark.parametrize("for_excel", [True, False])
async def test_the_download_has_the_same_sums(site: Site, opened: Opened, tmp_path: Path, for_excel: bool) -> None:
    """The file is the worker's CSV, with a byte order mark if asked for, and has no formula in it."""
    calls = ledger()
    site.kept = rollups(calls)
    page = await opened()
    where = {"downloadPath": str(tmp_path), "eventsEnabled": True, "browserContextId": page.context}
    await page.call("Browser.setDownloadBehavior", browser=True, behavior="allow", **where)
    kept = page.event("Browser.downloadProgress", state="completed")
    await page.evaluate(f"document.getElementById('bom').checked = {str(for_excel).lower()}")
    await page.evaluate("document.getElementById('csv').click()")
    async with asyncio.timeout(PATIENCE):
        await kept
    name, raw = only_file(tmp_path)
    assert name == "usage-2026-08-01-2026-08-13-department.csv"
    assert raw.startswith(b"\xef\xbb\xbf") == for_excel
    rows = list(csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    assert sum(int(row["tokens"]) for row in rows) == sum(call.total_tokens for call in calls)
    assert not any(row["department"].startswith("=") for row in rows)
    await page.until("at('status').textContent.includes('usage-2026-08-01')")
    assert page.faults == []


async def test_one_row_is_a_whole_pie(site: Site, opened: Opened) -> None:
    """Where one department used everything the pie is one piece."""
    site.kept = rollups(ledger(["rd"]))
    page = await opened()
    assert (await page.evaluate(SUMS))["pie"] == [2_000]
    assert await page.evaluate("document.querySelector('#figure .piece').tagName") == "circle"
