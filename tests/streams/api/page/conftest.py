"""The page before a real server, whose tables and decisions are in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from blastdoor_gateway.contract import Decision
from prometheus_client import CollectorRegistry

from rules.calendar import Calendar, Day
from rules.moment import MINUTE, Millis
from rules.policy import Budget, Policy, Viewer
from rules.records import Usage
from rules.rollup import Rollup
from rules.tenant_sheets import TenantSheets
from streams.api.pages import page_routes
from streams.api.server import serve
from streams.api.views import Views
from streams.decision import to_decision
from streams.embedded.server import free_port
from streams.explaining.history import Kept
from streams.metrics import Metrics
from streams.policy_file import default_rulebook
from streams.usage.index import NotReadyError
from tests.chromium import Page, page_of
from tests.rules.tenants.story import Story

BOSS, ACME = "boss-token-0123456789", "acme-token-0123456789"
DAYS = ("2026-08-11", "2026-08-13")
FORMULA = '=HYPERLINK("http://x","a"),\n;'
SCRIPT = "<script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
EMOJI = "😀" * 10_000
RTL = "\u202etxet desrever"
DEPARTMENTS = ("rd", "sales", "", "other", FORMULA, SCRIPT, EMOJI, RTL, "法务部", "hr", "it", "ops")


def ledger(departments: Iterable[str] = DEPARTMENTS) -> list[Usage]:
    """What was used: with each call more than with the one before."""
    return [
        Usage(
            id=f"{day}-{number}", at=0, model=f"m{number % 3}", total_tokens=(number + 1) * 1_000,
            prompt_tokens=number * 1_000, completion_tokens=1_000, tenant="acme", department=department,
            user=f"u{number % 5}", knowledge_base="handbook" if number % 2 else "",
        )
        for day in DAYS
        for number, department in enumerate(departments)
    ]  # fmt: skip


def rollups(calls: Iterable[Usage]) -> list[Rollup]:
    """The tables of calls; a call's id begins with its day."""
    sheets = TenantSheets()
    for call in calls:
        sheets.fold(call.id[:10], call.model, [call])
    sheets.settle()
    days = sheets.days.items()
    return [Rollup("acme", day, 5, by_tenant["acme"].sheet()) for day, by_tenant in days if "acme" in by_tenant]


def decision(used: int, **budget: Any) -> Decision:
    """What is decided about the tenant with so much used."""
    story = Story(Policy(tenant_default=Budget(**budget)))
    ruling = story.use("2026-08-13 11:00", used)
    assert ruling is not None
    return to_decision(ruling, (1, 1), story.calendar.zone)


@dataclass
class Site:
    """A worker's HTTP face; what it knows is what the test says."""

    address: str = ""
    routes: list[web.RouteDef] = field(default_factory=list)
    kept: list[Rollup] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: ["acme"])
    decisions: dict[str, Decision] = field(default_factory=dict)
    history: dict[str, Decision] = field(default_factory=dict)
    read: bool = True
    now: Millis = 0
    complete: Millis | None = None

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def start(self) -> None:
        """Answer from now on, at the same address each time."""
        self._runner = await serve(self.address, CollectorRegistry(), lambda: True, self.routes)

    async def stop(self) -> None:
        """Be gone."""
        await self._runner.cleanup()

    def tenants(self) -> list[str]:
        self.check()
        return self.names

    async def tables(self, tenant: str, days: list[Day]) -> list[Rollup]:
        self.check()
        return [each for each in self.kept if each.tenant == tenant and each.day in days]

    async def scopes(self) -> list[str]:
        return sorted(self.decisions)

    def check(self) -> None:
        if not self.read:
            msg = "the roll-ups are still being read"
            raise NotReadyError(msg)


class Decided:
    """The decisions of a site, as Redis would tell them."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def read(self, scopes: Iterable[str]) -> list[Decision]:
        return [found for scope in scopes if (found := self._site.decisions.get(scope)) is not None]


class Reasons:
    """The history of a site, as Kafka would tell it."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def latest(self, scope: str) -> Kept | None:
        self._site.check()
        found = self._site.history.get(scope)
        return None if found is None else Kept(found, "decisions-latest", 0, 7)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A site with a viewer of all and one of `acme`; its day is 2026-08-13, noon."""
    viewers = {"boss": Viewer(name="boss", token=BOSS), "acme": Viewer(name="acme", token=ACME, tenant="acme")}
    policy = Policy(viewers=viewers)
    site = Site(now=Calendar().start("2026-08-13") + 720 * MINUTE)
    views = Views(
        policy,
        default_rulebook(policy),
        site,
        Decided(site),  # type: ignore[arg-type]
        Reasons(site),  # type: ignore[arg-type]
        Metrics(),
        lambda: site.now,
        lambda: site.complete,
    )
    site.routes = [*views.routes(), *page_routes()]
    site.address = f"127.0.0.1:{free_port()}"
    await site.start()
    yield site
    await site.stop()


class Opened:
    """Opens pages that are closed with the test."""

    def __init__(self, chromium: str, site: Site, stack: AsyncExitStack) -> None:
        self._chromium, self._site, self._stack = chromium, site, stack

    async def __call__(self, token: str = ACME, **reader: Any) -> Page:
        """The page of a reader who came with a token, once it says what it has found."""
        page = await self._stack.enter_async_context(page_of(self._chromium, **reader))
        await page.go(f"{self._site.url}/usage" + (f"#token={token}" if token else ""))
        await page.until(
            "document.readyState === 'complete' && !at('main').hasAttribute('aria-busy') && at('status').textContent"
        )
        return page


@pytest.fixture
async def opened(chromium: str, site: Site) -> AsyncIterator[Opened]:
    async with AsyncExitStack() as stack:
        yield Opened(chromium, site, stack)
