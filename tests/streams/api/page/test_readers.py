"""Whoever reads it: in both languages, in both colour schemes, by keyboard, with a screen reader, at any zoom."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from tests.chromium import Page
from tests.streams.api.page.conftest import ACME, Opened, Site, decision, ledger, rollups

pytestmark = pytest.mark.chromium

AXE = (files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
FOCUS = "document.activeElement.id || document.activeElement.value || ''"


async def complaints(page: Page) -> list[Any]:
    """What axe-core finds."""
    await page.evaluate(AXE + ";true")
    found = json.loads(
        await page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then((all) => JSON.stringify(all.violations.map("
            "(each) => [each.id, each.nodes.map((node) => [node.html.slice(0, 200), node.failureSummary])])))"
        )
    )
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(("dark", "language"), [(False, "en"), (True, "zh-CN")])
async def test_no_barrier(site: Site, opened: Opened, dark: bool, language: str) -> None:
    """axe-core, contrast included, finds nothing: at the door, with numbers, with columns by day, with an error."""
    reader = {"dark": dark, "language": language}
    assert await complaints(await opened("", **reader)) == []
    site.kept = rollups(ledger())
    site.decisions["tenant:acme"] = decision(1_250, daily_tokens=1_000, monthly_tokens=5_000)
    page = await opened(ACME, **reader)
    assert await complaints(page) == []
    await page.evaluate("document.getElementById('by').value = 'day'")
    await page.evaluate("document.getElementById('show').click()")
    await page.until("at('usage-heading').dataset.by === 'day'")
    assert await complaints(page) == []
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is not dark


async def test_both_languages(site: Site, opened: Opened) -> None:
    """The browser's language is taken; the other one is a click away, with the same numbers, and stays chosen."""
    site.kept = rollups(ledger(["法务部"]))
    page = await opened(ACME, language="zh-CN,zh;q=0.9,en;q=0.8")
    assert await page.evaluate("document.documentElement.lang + document.title") == "zh-CN用量"
    assert await page.evaluate("document.getElementById('status').textContent") == "2,000 Token，2 次请求。"
    await page.evaluate("document.querySelector('#languages [value=en]').click()")
    await page.until("at('status').textContent === '2,000 tokens, 2 requests.'")
    left = await page.evaluate("document.body.innerText.replace('中文', '').replace('法务部', '')")
    assert [letter for letter in left if "\u4e00" <= letter <= "\u9fff"] == []
    await page.go(f"{site.url}/usage")
    await page.until("at('status').textContent === '2,000 tokens, 2 requests.'")
    assert await page.evaluate("document.querySelector('[aria-pressed=true]').value") == "en"
    page = await opened(ACME, language="fr-FR")
    assert await page.evaluate("document.documentElement.lang") == "en"


async def test_by_keyboard(site: Site, opened: Opened) -> None:
    """Every control is reached by Tab, in the order of the page, and works by key."""
    site.kept = rollups(ledger())
    page = await opened(ACME)
    reached: list[str] = []
    for _ in range(20):
        await page.press("Tab", code=9)
        reached.append(await page.evaluate(FOCUS))
    order = [name for name in dict.fromkeys(reached) if name]
    assert order == ["zh", "en", "by", "from", "to", "show", "leave", "scroll", "csv", "bom"]
    await page.evaluate("document.getElementById('by').focus()")
    await page.press("ArrowDown", code=40)
    await page.until("at('usage-heading').dataset.by === 'user'")
    await page.evaluate("document.querySelector('#languages [value=zh]').focus()")
    await page.press("Enter", code=13, text="\r")
    await page.until("document.documentElement.lang === 'zh-CN'")


async def test_the_chart_in_words(site: Site, opened: Opened) -> None:
    """Who sees no chart is told the same numbers."""
    site.kept = rollups(ledger(["rd", "hr"]))
    page = await opened(ACME)
    told = await page.call("Accessibility.getFullAXTree")
    (image,) = [node for node in told["nodes"] if node.get("role", {}).get("value") in {"image", "img"}]
    assert image["name"]["value"] == (
        "Tokens by Department: 6,000 in total hr: 4,000 tokens (66.7%); rd: 2,000 tokens (33.3%)"
    )
