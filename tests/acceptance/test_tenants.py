"""A tenant passes 80 % and 100 %, is answered without a model by the real gate, and goes on after a top-up; a worker is
killed in between. What its pies add up to is what was sent."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from blastdoor_gateway.config import Engine, Falls, Gate
from blastdoor_gateway.contract import Decision
from blastdoor_gateway.guard import Guard

from rules.moment import to_rfc3339
from streams.alert_records import read
from tests.acceptance.conftest import Deployment, eventually

pytestmark = [pytest.mark.embedded, pytest.mark.timeout(180)]

BUDGET = 100_000
HOSTILE = '=HYPERLINK("http://x","😀"),\n' + "😀" * 10_000
TOKENS = {"boss": "b" * 16, "acme": "a" * 16, "zeta": "z" * 16}


def policy_file(directory: Path) -> Path:
    """A budget for everybody; one viewer of all, one of each tenant."""
    for name, token in TOKENS.items():
        (directory / f"{name}.token").write_text(token)
    viewers: dict[str, Any] = {name: {"token": f"file:{name}.token", "tenant": name} for name in ("acme", "zeta")}
    viewers["boss"] = {"token": "file:boss.token"}
    policy = {"tenants": {"default": {"daily_tokens": BUDGET}}, "viewers": viewers}
    path = directory / "policy.yaml"
    path.write_text(json.dumps(policy))
    return path


def usage(number: int, tokens: int, **fields: str) -> bytes:
    now = to_rfc3339(time.time_ns() // 1_000_000)
    event = {"type": "usage", "id": f"e{number}", "ts": now, "model": "m", "total_tokens": tokens}
    return json.dumps(event | {"prompt_tokens": tokens, "tenant": "acme"} | fields).encode()


class Acme:
    """The tenant's view of a deployment."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.sent = 0
        self.number = 0

    async def use(self, tokens: int, **fields: str) -> None:
        self.number += 1
        self.sent += tokens
        event = usage(self.number, tokens, **fields)
        for _ in range(2):  # every sender repeats itself
            await self.deployment.produce(self.deployment.topics.usage, event, key=f"e{self.number}".encode())

    async def decided(self, action: str, used: int) -> Decision:
        """The decision about the tenant, once it is as wanted."""

        async def look() -> Decision | None:
            found = await self.deployment.redis.hgetall(self.deployment.keys.decision("tenant:acme"))
            decision = Decision.from_hash(found) if found else None
            return decision if decision and (decision.action.value, decision.used) == (action, used) else None

        found: Decision = await eventually(look)
        return found

    async def order(self, action: str, **fields: Any) -> None:
        now = to_rfc3339(time.time_ns() // 1_000_000)
        order = {"type": "control", "id": f"order-{action}", "ts": now, "by": "lin", "why": "asked", "action": action}
        raw = json.dumps(order | {"scope": "tenant:acme"} | fields).encode()
        for _ in range(2):
            await self.deployment.produce(self.deployment.topics.controls, raw)

    async def get(self, path: str, viewer: str = "boss", **query: str) -> tuple[int, bytes]:
        """Status and body of an answer."""
        (address,) = self.deployment.stack.http
        headers = {"Authorization": f"Bearer {TOKENS.get(viewer, viewer)}"}
        async with (
            ClientSession() as client,
            client.get(f"http://{address}{path}", params=query, headers=headers) as got,
        ):
            return got.status, await got.read()

    async def table(self, by: str) -> dict[str, Any]:
        """The usage by a dimension, once everything sent is in it."""

        async def look() -> dict[str, Any] | None:
            status, body = await self.get("/v1/usage", tenant="acme", by=by)
            found: dict[str, Any] = json.loads(body)
            return found if status == 200 and found["total"]["tokens"] == self.sent else None

        found: dict[str, Any] = await eventually(look)
        return found


async def test_a_budget_from_end_to_end(deploy: Any, tmp_path: Path) -> None:
    """Warned at 80 %, degraded at 100 % by the real gate, let go on by a top-up, though the worker dies in between;
    every pie adds up to what was sent, and nobody else sees it."""
    gate = Gate(engine=Engine(unknown=Falls.OPEN))
    async with (
        deploy(policy=str(policy_file(tmp_path))) as deployment,
        Guard.connect(deployment.stack.redis, gate) as guard,
    ):
        acme = Acme(deployment)
        await acme.use(60_000, department="rd", user="u1", knowledge_base="handbook")
        await acme.decided("allow", 60_000)
        assert (await guard.admit(model="m", tenant="acme", estimate=1_000)).allowed
        await acme.use(25_000, department=HOSTILE, user="u2")
        await acme.decided("warn", 85_000)
        await deployment.kill_worker()
        await acme.use(15_000, user="u1")
        await acme.decided("degrade", BUDGET)
        refused = await guard.admit(model="m", tenant="acme", estimate=1_000)
        assert (refused.allowed, refused.action, refused.layer) == (False, "degrade", "budget")
        await acme.order("topup", tokens=50_000)
        decision = await acme.decided("allow", BUDGET)
        assert decision.ceiling == 150_000
        assert (await guard.admit(model="m", tenant="acme", estimate=1_000)).allowed
        assert await thresholds(deployment) == [("tenant:acme", 0.8), ("tenant:acme", 1.0)]
        await pies(acme)
        await doors(acme)
        await forgetting(acme)


async def thresholds(deployment: Deployment) -> list[tuple[str, float | None]]:
    """What was told of shares of the budget."""
    found = {}
    for record in await deployment.records(deployment.topics.alerts):
        alert = read(record.key, record.value)
        if alert is not None and getattr(alert, "threshold", None):
            found[alert.id] = (alert.scope, alert.threshold)  # type: ignore[union-attr]
    return sorted(found.values())


async def pies(acme: Acme) -> None:
    """Each pie adds up to the table and to what was sent; the hostile name breaks neither JSON nor CSV."""
    for by in ("department", "user", "knowledge_base", "model", "day"):
        table = await acme.table(by)
        assert sum(row["tokens"] for row in table["rows"]) + table["other"]["tokens"] == acme.sent
        assert sum(row["requests"] for row in table["rows"]) == 3
    departments = {row["value"][:11]: row["tokens"] for row in (await acme.table("department"))["rows"]}
    assert departments == {"rd": 60_000, HOSTILE[:11]: 25_000, "": 15_000}
    _, body = await acme.get("/v1/usage", tenant="acme", by="department", format="csv", bom="1")
    assert body.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"), newline="")))
    assert sum(int(row["tokens"]) for row in rows) == acme.sent
    assert not any(row["department"].startswith("=") for row in rows)


async def doors(acme: Acme) -> None:
    """A tenant's token shows that tenant, another's does not, and none shows nothing."""
    viewers = ("acme", "zeta", "wrong", "boss")
    assert [(await acme.get("/v1/usage", viewer, tenant="acme"))[0] for viewer in viewers] == [200, 403, 401, 200]
    assert json.loads((await acme.get("/v1/tenants", "zeta"))[1]) == {"tenants": []}
    decisions = json.loads((await acme.get("/v1/decisions", "acme"))[1])["decisions"]
    assert [decision["scope"] for decision in decisions] == ["tenant:acme"]
    explained = json.loads((await acme.get("/v1/explain", "acme"))[1])
    assert explained["rule"]["name"] == "tenant-within-budget"
    assert explained["facts"]["day_used"] == acme.sent
    assert explained["origin"].startswith(acme.deployment.topics.decisions_latest)
    model = json.loads((await acme.get("/v1/explain", "boss", scope="model:m"))[1])
    assert (model["rule"]["name"], model["steps"]) == (model["decision"]["rule"], [])


async def forgetting(acme: Acme) -> None:
    """A user is shown under another name, with the same sums."""
    await acme.order("forget", scope="user:acme/u1")

    async def look() -> dict[str, int] | None:
        rows = (await acme.table("user"))["rows"]
        found = {row["value"]: row["tokens"] for row in rows}
        return None if "u1" in found else found

    found = await eventually(look)
    (pseudonym,) = [user for user in found if user.startswith("forgotten-")]
    assert found == {pseudonym: 75_000, "u2": 25_000}
