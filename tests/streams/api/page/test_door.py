"""The token comes by a field or by the address's fragment, and stands in no address afterwards."""

from __future__ import annotations

import pytest

from tests.chromium import Page
from tests.streams.api.page.conftest import ACME, BOSS, EMOJI, Opened, Site, ledger, rollups

pytestmark = pytest.mark.chromium
WRONG = "wrong-token-0123456789"


def addresses(page: Page) -> list[str]:
    """Everything it has asked for, which servers may log."""
    return [request["url"] + str(request.get("headers", {}).get("Referer", "")) for request in page.requests]


async def type_token(page: Page, token: str) -> None:
    """Into the field that has the focus, and Enter."""
    await page.write(token)
    await page.press("Enter", code=13, text="\r")


async def test_by_the_field(site: Site, opened: Opened) -> None:
    """A wrong token is told and asked for again; the right one opens; no address has it, and it is for this tab."""
    site.kept = rollups(ledger())
    page = await opened(token="")
    assert await page.evaluate("document.activeElement.id") == "token"
    for wrong in (WRONG, "令牌"):
        await type_token(page, wrong)
        await page.until("at('status').textContent === 'This token is not known.'")
        assert await page.evaluate("document.activeElement.id + document.activeElement.value") == "token"
    await type_token(page, ACME)
    await page.until("!at('usage').hidden")
    assert await page.evaluate("localStorage.length + document.cookie.length") == 0
    assert await page.evaluate("document.getElementById('token').value") == ""
    assert not any(secret in address for secret in (ACME, WRONG) for address in addresses(page))
    await page.evaluate("document.getElementById('leave').click()")
    await page.until("at('usage').hidden && at('question').hidden && !at('door').hidden")
    assert await page.evaluate("JSON.stringify({...sessionStorage})") == '{"language":"en"}'


async def test_by_the_fragment(site: Site, opened: Opened) -> None:
    """It is taken out of the address at once, and the page asks nobody but its worker."""
    site.kept = rollups(ledger())
    page = await opened(ACME)
    assert await page.evaluate("location.href") == f"{site.url}/usage"
    assert await page.evaluate("JSON.stringify(history.state) + history.length") == "null2"
    assert not any(ACME in address for address in addresses(page))
    assert [address for address in addresses(page) if not address.startswith((site.url, "data:"))] == []
    await page.go(f"{site.url}/usage")
    await page.until("!at('usage').hidden")


async def test_a_viewer_of_all_chooses(site: Site, opened: Opened) -> None:
    """Who sees every tenant chooses among them; the usage that names none is one of them; names stay text."""
    site.kept, site.names = rollups(ledger(["rd"])), ["", "<b>bold</b>", EMOJI, "acme"]
    page = await opened(BOSS)
    names = await page.evaluate("[...document.getElementById('tenant').options].map((each) => each.textContent)")
    assert names == ["(no tenant)", "<b>bold</b>", EMOJI[:119] + "…", "acme"]
    assert await page.evaluate("document.documentElement.scrollWidth") <= 1280
    await page.until("at('status').textContent === 'No usage in these days.'")
    await page.choose("tenant", "acme")
    await page.until("at('status').textContent.startsWith('2,000 tokens')")
    assert page.faults == []


async def test_nothing_of_a_page_can_become_a_script(site: Site, opened: Opened) -> None:
    """The browser itself refuses markup from text, inline scripts and other hosts."""
    page = await opened(ACME)
    refused = await page.evaluate("""(async () => {
      const tries = [
        () => { document.body.innerHTML = '<b>x</b>'; },
        () => { document.createElement('script').textContent = 'x()'; },
        () => fetch('http://127.0.0.1:1/'),
      ];
      const outcomes = tries.map(async (attempt) => {
        try { await attempt(); return ''; } catch (error) { return error.name; }
      });
      return await Promise.all(outcomes);
    })()""")
    assert refused == ["TypeError"] * 3
