"""A stand-in for VolcEngine's billing interface: it checks every signature and plays what a test planned."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from aiohttp import web

KEYS = {"AKTEST": "SKTEST"}
PAGE = 20

Row = dict[str, Any]


def signature(
    method: str, query: Mapping[str, str], headers: Mapping[str, str], names: str, body: bytes, secret: str, scope: str
) -> str:
    """The signature by the published rules, written apart from the SDK's."""
    signed = {name.lower(): value for name, value in headers.items()}
    host = signed["host"]
    signed["host"] = host.partition(":")[0] if host.endswith((":80", ":443")) else host
    lines = "".join(f"{name}:{signed[name]}\n" for name in names.split(";"))
    pairs = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in query.items())
    canonical = "\n".join(
        [
            method,
            "/",
            "&".join(f"{name}={value}" for name, value in pairs),
            lines,
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    text = "\n".join(["HMAC-SHA256", signed["x-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = secret.encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def package(name: str, available: object, **fields: Any) -> Row:
    """A package of 2,000,000 tokens as the interface lists it."""
    return {
        "InstanceNo": name, "InstanceName": "", "Product": "ark_bd", "ConfigurationCode": "reward_flash",
        "ConfigurationName": "Flash 奖励资源包", "Status": "Effective", "TotalAmount": "2000000",
        "AvailableAmount": available, "Unit": "token", "EffectiveTime": "2026-11-28T03:00:12Z",
        "ExpiryTime": "2026-12-28T03:00:12Z",
    } | fields  # fmt: skip


def error(code: str, number: int, message: str = "…") -> dict[str, Any]:
    return {"ResponseMetadata": {"RequestId": "x", "Error": {"CodeN": number, "Code": code, "Message": message}}}


def listing(rows: list[Row], token: str | None) -> dict[str, Any]:
    return {"ResponseMetadata": {"RequestId": "x"}, "Result": {"List": rows, "NextToken": token}}


@dataclass
class FakeVolcEngine:
    """Serves `packages` (and `deductions`) in pages; `plan` answers come first, one a call."""

    packages: list[Row] = field(default_factory=list)
    deductions: list[Row] = field(default_factory=list)
    plan: list[Callable[[], web.StreamResponse]] = field(default_factory=list)
    page: int = PAGE
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/", self._answer)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        self.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if (refused := self._refusal(request, body)) is not None:
            return refused
        asked = json.loads(body)
        self.asked.append((request.query["Action"], asked))
        if self.plan:
            return self.plan.pop(0)()
        if request.query["Action"] == "ListPackageUsageDetails":
            return self._page(self.deductions, asked)
        status, product = asked.get("Status", "Effective"), asked.get("Product")
        rows = [row for row in self.packages if row["Status"] == status and product in {None, row["Product"]}]
        return self._page(rows, asked)

    def _page(self, rows: list[Row], asked: Mapping[str, str]) -> web.Response:
        start = int(asked.get("NextToken") or 0)
        size = min(self.page, int(asked["MaxResults"]))
        end = start + size
        return web.json_response(listing(rows[start:end], str(end) if end < len(rows) else "0"))

    def _refusal(self, request: web.Request, body: bytes) -> web.Response | None:
        scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(",")) if rest else {}
        access, _, scope = parts.get("Credential", "").partition("/")
        if scheme != "HMAC-SHA256" or access not in KEYS:
            return web.json_response(error("InvalidAccessKey", 100009), status=401)
        wanted = signature(
            request.method, request.query, request.headers, parts["SignedHeaders"], body, KEYS[access], scope
        )
        day, region, service, _ = scope.split("/")
        fits = (day, region, service) == (request.headers["X-Date"][:8], "cn-beijing", "billing")
        if not (fits and hmac.compare_digest(wanted, parts["Signature"])):
            return web.json_response(error("SignatureDoesNotMatch", 100010), status=401)
        return None


async def silence() -> None:
    await asyncio.Event().wait()
