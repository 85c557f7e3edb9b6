"""What the page asks for, without a browser."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import ClientSession

from rules.moment import MINUTE, from_datetime
from tests.streams.api.page.conftest import ACME, BOSS, Site, decision, ledger, rollups


async def ask(site: Site, path: str, token: str, **query: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}"}
    async with ClientSession() as client, client.get(f"{site.url}/v1/{path}", params=query, headers=headers) as got:
        return got.status, await got.json()


async def test_who_sees_a_budget(site: Site) -> None:
    """A tenant's token sees that tenant's; of another it learns nothing; a viewer of all must name one."""
    site.decisions["tenant:acme"] = decision(900, daily_tokens=1_000)
    assert (await ask(site, "budget", "wrong"))[0] == 401
    assert (await ask(site, "budget", ACME, tenant="zeta"))[0] == 403
    assert (await ask(site, "budget", BOSS))[0] == 400
    assert (await ask(site, "budget", BOSS, tenant="zeta"))[0] == 404
    status, found = await ask(site, "budget", ACME)
    assert (status, found["action"], found["today"]) == (200, "warn", "2026-08-13")
    assert found["windows"][0] == {"window": "day", "name": "2026-08-13", "used": 900, "limit": 1_000, "left": 100}
    assert (await ask(site, "budget", BOSS, tenant="acme"))[1] == found


async def test_completeness_is_told(site: Site) -> None:
    """What is metered is in the tables a minute later; where that is not known it is null."""
    site.kept = rollups(ledger())
    assert (await ask(site, "usage", ACME))[1]["complete_until"] is None
    site.complete = site.now
    told = (await ask(site, "usage", ACME))[1]["complete_until"]
    assert from_datetime(datetime.fromisoformat(told)) == site.now - MINUTE
