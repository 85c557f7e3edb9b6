"""What is missing is said: no data, not yet, behind, no worker, no budget."""

from __future__ import annotations

import time

import pytest

from tests.chromium import Page
from tests.streams.api.page.conftest import ACME, BOSS, Opened, Site, decision, ledger, rollups

pytestmark = pytest.mark.chromium

BARS = """[...document.querySelectorAll('#windows > div')].map((each) => [
  each.dataset.window,
  each.querySelector('p').textContent,
  each.querySelector('[role=meter]')?.getAttribute('aria-valuenow') ?? null,
])"""


async def text(page: Page, name: str) -> str:
    return str(await page.evaluate(f"document.getElementById('{name}').textContent"))


async def test_no_usage(site: Site, opened: Opened) -> None:
    """Days without usage, and a viewer of all before there is any tenant, are told so; no chart is drawn of nothing."""
    page = await opened(ACME)
    assert await text(page, "status") == "No usage in these days."
    assert await page.evaluate("document.getElementById('numbers').checkVisibility()") is False
    site.names = []
    page = await opened(BOSS)
    assert await text(page, "status") == "No usage yet."
    assert page.faults == []


async def test_not_yet(site: Site, opened: Opened) -> None:
    """A worker that has just started is asked again by itself, until it knows."""
    site.kept, site.read = rollups(ledger()), False
    page = await opened(ACME)
    await page.until("at('status').textContent.startsWith('Not known yet: the roll-ups are still being read')")
    assert await page.evaluate("document.getElementById('usage').hidden") is True
    site.read = True
    await page.until("!at('usage').hidden")


async def test_how_far_counting_has_come(site: Site, opened: Opened) -> None:
    """Complete until a minute before what was metered; a worker that is behind, or does not know, says so."""
    site.kept, now = rollups(ledger()), time.time_ns() // 1_000_000
    page = await opened(ACME)
    for complete, said, behind in (
        (None, "This worker does not know", True),
        (now, "Complete until", False),
        (now - 3_600_000, "Counting is behind. Complete until", True),
    ):
        site.complete = complete
        await page.evaluate("document.getElementById('show').click()")
        await page.until(f"at('fresh').textContent.startsWith('{said}') && !at('main').hasAttribute('aria-busy')")
        assert await page.evaluate("document.getElementById('fresh').className") == ("behind" if behind else "")


async def test_a_worker_that_is_gone(site: Site, opened: Opened) -> None:
    """Numbers of a worker that does not answer are no longer shown; it is asked again until it is back."""
    site.kept = rollups(ledger())
    page = await opened(ACME)
    await site.stop()
    await page.evaluate("document.getElementById('show').click()")
    await page.until("at('status').textContent.startsWith('The worker does not answer') && at('usage').hidden")
    await site.start()
    await page.until("!at('usage').hidden")


async def test_a_question_that_is_none(site: Site, opened: Opened) -> None:
    """The worker's reason is shown."""
    page = await opened(ACME)
    await page.evaluate("document.getElementById('from').value = '2026-08-14'")
    await page.evaluate("document.getElementById('show').click()")
    await page.until("at('status').textContent === 'The worker refused the question: from lies after to'")


async def test_the_remaining_budget(site: Site, opened: Opened) -> None:
    """Both windows with what is left or over; one without a limit has no bar; none at all is told."""
    page = await opened(ACME)
    assert await text(page, "budget-action") == "No budget: nothing has been decided about this tenant."
    site.decisions["tenant:acme"] = decision(1_250, daily_tokens=1_000, monthly_tokens=5_000)
    page = await opened(ACME)
    assert await page.evaluate(BARS) == [
        ["day", "1,250 of 1,000 tokens used · 250 over", "1000"],
        ["month", "1,250 of 5,000 tokens used · 3,750 left", "1250"],
    ]
    assert (await text(page, "budget-action")).startswith(
        "The budget is used up: calls are answered without a model. (until 2026-08-14 00:00:00 (UTC+08:00))"
    )
    site.decisions["tenant:acme"] = decision(10, daily_tokens=1_000)
    page = await opened(ACME, language="zh-CN")
    assert [each[1:] for each in await page.evaluate(BARS)] == [
        ["已用 10 / 1,000 Token · 剩余 990", "10"],
        ["已用 10 Token；不限量", None],
    ]
    assert page.faults == []
