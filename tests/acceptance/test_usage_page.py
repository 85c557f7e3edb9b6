"""The customer's administrator opens the page of a real worker: what it shows is what was sent."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.moment import to_rfc3339
from tests.acceptance.conftest import Deployment
from tests.chromium import Page, page_of

pytestmark = [pytest.mark.embedded, pytest.mark.chromium, pytest.mark.timeout(240)]

SCREENS = Path(__file__).parents[2] / ".cache" / "screens"
TOKEN = "acme-token-0123456789"
BUDGET, MONTH = 2_000_000, 40_000_000
HOSTILE = '=HYPERLINK("http://x","😀"),\n<script>document.title="broken"</script>' + "😀" * 10_000
PLACES = [  # department, user, knowledge base, model, tokens
    ("研发部", "lin", "handbook", "deepseek-v4-flash", 612_300),
    ("客服部", "wang", "faq", "deepseek-v4-flash", 431_870),
    ("sales", "maria", "faq", "doubao-seed-1-6", 214_005),
    ("legal", "chen", "contracts", "deepseek-v4-flash", 120_450),
    (HOSTILE, HOSTILE, HOSTILE, "doubao-seed-1-6", 64_020),
    ("", "", "", "deepseek-v4-flash", 30_700),
]
USED = sum(tokens for *_, tokens in PLACES)
NAMES = ("department", "user", "knowledge_base", "model", "day")
SUMS = """({
  pie: [...document.querySelectorAll('#figure .piece')].reduce((sum, each) => sum + Number(each.dataset.tokens), 0),
  rows: [...document.querySelectorAll('#table tbody tr')].reduce((sum, each) => sum + Number(each.dataset.tokens), 0),
})"""


def noon() -> str:
    """A zone in which it is about noon, so that the day does not end while the test runs."""
    ahead = 12 - time.gmtime().tm_hour
    return f"Etc/GMT{-ahead:+d}"  # the sign says how far Greenwich is ahead


def keep(path: Path, picture: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(picture)


def policy_file(directory: Path, zone: str) -> Path:
    """A budget for everybody, prices, and a viewer of the tenant."""
    (directory / "acme.token").write_text(TOKEN)
    policy: dict[str, Any] = {
        "timezone": zone,
        "tenants": {"default": {"daily_tokens": BUDGET, "monthly_tokens": MONTH}},
        "viewers": {"acme-admin": {"token": "file:acme.token", "tenant": "acme"}},
        "prices": {model: {"input": 1, "output": 2} for model in ("deepseek-v4-flash", "doubao-seed-1-6")},
    }
    path = directory / "policy.yaml"
    path.write_text(json.dumps(policy))
    return path


async def use(deployment: Deployment) -> None:
    """One call for each place, each told twice."""
    now = to_rfc3339(time.time_ns() // 1_000_000)
    for number, (department, user, knowledge_base, model, tokens) in enumerate(PLACES):
        event = {"type": "usage", "id": f"e{number}", "ts": now, "model": model, "tenant": "acme"}
        event |= {"department": department, "user": user, "knowledge_base": knowledge_base}
        event |= {"prompt_tokens": tokens - 1_000, "completion_tokens": 1_000}
        raw = json.dumps({name: value for name, value in event.items() if value != ""}).encode()
        for _ in range(2):
            await deployment.produce(deployment.topics.usage, raw, key=f"e{number}".encode())


async def shows(page: Page, condition: str) -> None:
    """Ask until the page shows it: sums take seconds, complete or not."""
    await page.evaluate("setInterval(() => { if (!main.hasAttribute('aria-busy')) show.click(); }, 1000) && 0")
    await page.until(condition)


async def by(page: Page, dimension: str) -> dict[str, int]:
    await page.choose("by", dimension)
    await page.until(f"at('usage-heading').dataset.by === '{dimension}' && !at('main').hasAttribute('aria-busy')")
    found: dict[str, int] = await page.evaluate(SUMS)
    return found


async def test_the_page_of_a_real_worker(deploy: Any, tmp_path: Path, chromium: str) -> None:
    """By every dimension chart and table add up to what was sent; the budget shows what is left of it; a hostile name
    breaks nothing. Pictures of it, in both languages, are in .cache/screens."""
    zone = noon()
    async with deploy(policy=str(policy_file(tmp_path, zone))) as deployment:
        await use(deployment)
        address = f"http://{deployment.stack.http[0]}/usage#token={TOKEN}"
        for language, dark in (("en", False), ("zh-CN", True)):
            async with page_of(chromium, language=language, dark=dark) as page:
                await page.go(address)
                left = {"en": "left", "zh-CN": "剩余"}[language]
                wanted = f"{USED:,}"
                await shows(
                    page,
                    f"at('status').textContent.startsWith('{wanted} ') && at('fresh').className === '' &&"
                    f" at('windows').textContent.includes('{wanted}') && at('windows').textContent.includes('{left}')",
                )
                keep(SCREENS / f"usage-{language[:2]}.png", await page.picture())
                assert {name: await by(page, name) for name in NAMES} == {
                    name: {"pie": USED, "rows": USED} for name in NAMES
                }
                windows = await page.evaluate("document.getElementById('windows').textContent")
                assert f"{BUDGET - USED:,}" in windows
                assert f"{MONTH - USED:,}" in windows
                assert datetime.now(ZoneInfo(zone)).date().isoformat() in windows
                assert page.faults == []
