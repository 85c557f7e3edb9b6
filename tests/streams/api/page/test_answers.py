"""What the page asks for, without a browser."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from aiohttp import ClientSession

from rules.explain import explain
from rules.moment import MINUTE, from_datetime
from streams.explaining.decided import to_decided
from streams.explaining.document import document
from streams.explaining.recorded import recall
from streams.recording import Recording
from tests.streams.api.page.conftest import ACME, BOSS, Site, decision, ledger, rollups
from tests.streams.explaining.golden import FIRST, INCIDENT, POLICY, RULEBOOK, SECOND, ZONE


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


async def test_a_model_is_explained_as_the_command_does(site: Site) -> None:
    """Of the incident: the rule, what it looked at, and the readings that shaped both ends, in order; beside it the
    decision as gateways read it. A tenant's token is not for models."""
    scope = f"model:{INCIDENT}"
    recalled = recall(Recording((FIRST, SECOND), ZONE), POLICY, RULEBOOK, INCIDENT, None)
    site.decisions[scope] = site.history[scope] = recalled.decision
    kept = to_decided(recalled.decision, "decisions-latest/0/7")
    status, found = await ask(site, "explain", BOSS, scope=scope)
    decided = found.pop("decision")
    assert status == 200
    assert (decided["rule"], decided["used"]) == (recalled.decision.rule, recalled.decision.used)
    assert found == json.loads(json.dumps(document(explain(kept, RULEBOOK, POLICY.hash), ZONE)))
    readings = [step for step in found["steps"] if step["kind"] == "reading"]
    assert readings == sorted(readings, key=lambda step: step["at"])
    assert {found["pool"][end]["reading"] for end in ("low", "high")} <= {step["id"] for step in readings}
    assert (await ask(site, "explain", ACME, scope=scope))[0] == 403


async def test_a_tenant_is_explained_by_its_windows(site: Site) -> None:
    """The rule, its numbers and where the decision lies; until Kafka tells the history: ask again."""
    site.decisions["tenant:acme"] = decision(900, daily_tokens=1_000, monthly_tokens=5_000)
    assert (await ask(site, "explain", ACME))[0] == 503
    site.history["tenant:acme"] = site.decisions["tenant:acme"]
    status, found = await ask(site, "explain", ACME)
    assert (status, found["rule"]["name"]) == (200, "tenant-near-budget")
    windows = {"day_used": 900, "day_limit": 1_000, "month_used": 900, "month_limit": 5_000}
    assert found["facts"] == {"used": 900, "limit": 1_000, "wall": "day"} | windows
    assert found["origin"] == "decisions-latest/0/7"
    site.read = False
    assert (await ask(site, "explain", ACME))[0] == 503
    assert (await ask(site, "explain", BOSS, scope="tenant:zeta"))[0] == 404
