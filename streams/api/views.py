"""What may be looked at over HTTP, by whom: usage, decisions and their reasons.

    GET /v1/usage?tenant=acme&from=2026-08-01&to=2026-08-31&by=department[&format=csv[&bom=1]]
    GET /v1/tenants         GET /v1/decisions[?scope=tenant:acme]         GET /v1/explain?scope=tenant:acme
    GET /v1/budget?tenant=acme

    200  the answer                      400  not a question            401  no or a wrong token
    403  not this token's                404  nothing is known of it    503  not known yet: ask again

Every request needs a token of the policy's section `viewers`. One that names a tenant sees that tenant and nothing
else; of another it learns not even whether there is one. Without tokens nothing is shown: the way this falls is shut.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

from aiohttp import web

from rules.calendar import Calendar, Day
from rules.fault import meant, shown
from rules.moment import MINUTE, Millis, to_rfc3339
from rules.policy import Policy, Sender, Viewer
from rules.prices import Prices
from rules.rulebook import Rulebook
from rules.usage_table import MOST_DAYS, By, usage_table
from streams.active import Active
from streams.api.budget import as_budget
from streams.api.door import Door
from streams.api.explained import Reasons, explained
from streams.metrics import Metrics
from streams.usage.decided import Decided, UnreachableError
from streams.usage.forms import as_csv, as_json
from streams.usage.index import NotReadyError, days_between

Answer = Callable[[web.Request, Viewer], Awaitable[web.Response]]

# Numbers change by the second, and belong to whoever has the token.
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


TOLD_WITHIN: Millis = MINUTE
"""What was metered stands in the tables so much later at most."""


class Tables(Protocol):
    """The roll-ups, as `streams.usage.index` keeps them."""

    def tenants(self) -> list[str]: ...

    async def tables(self, tenant: str, days: list[Day]) -> list[Any]: ...


class RefusedError(Exception):
    """A request that is answered with a reason alone."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Views:
    """The handlers."""

    def __init__(
        self,
        policy: Policy,
        rulebook: Rulebook,
        tables: Tables,
        decided: Decided,
        reasons: Reasons,
        metrics: Metrics,
        clock: Callable[[], Millis],
        complete_until: Callable[[], Millis | None],
    ) -> None:
        self._calendar: Calendar = policy.calendar()
        self._tables = tables
        self._decided = decided
        self._reasons = reasons
        self._metrics = metrics
        self._clock = clock
        self._complete_until = complete_until
        self._go_by(policy, rulebook)

    def adopt(self, active: Active) -> None:
        """Go by this policy from the next request on."""
        self._go_by(active.policy, active.rulebook)

    def _go_by(self, policy: Policy, rulebook: Rulebook) -> None:
        self._policy = policy
        self._rulebook = rulebook
        self._viewers = policy.viewers
        self._door = _door(policy.viewers.values())

    def routes(self) -> list[web.RouteDef]:
        """All of them, each behind the door."""
        views: dict[str, Answer] = {
            "/v1/usage": self._usage,
            "/v1/tenants": self._tenants,
            "/v1/budget": self._budget,
            "/v1/decisions": self._decisions,
            "/v1/explain": self._explain,
        }
        return [web.get(path, self._behind_the_door(answer)) for path, answer in views.items()]

    def _behind_the_door(self, answer: Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def respond(request: web.Request) -> web.StreamResponse:
            try:
                response = await answer(request, self._admit(request))
            except RefusedError as refused:
                response = web.json_response({"detail": str(refused)}, status=refused.status)
            except (NotReadyError, UnreachableError) as missing:
                headers = {"Retry-After": "2"}
                response = web.json_response({"detail": f"{missing}; ask again"}, status=503, headers=headers)
            if response.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            response.headers.update(HEADERS)
            self._metrics.requests.labels(status=str(response.status)).inc()
            return response

        return respond

    def _admit(self, request: web.Request) -> Viewer:
        if self._door.is_locked:
            raise RefusedError(403, "no viewer has a token; name one in the policy's section `viewers`")
        holder = self._door.admit(request.headers.get("Authorization", ""))
        if holder is None:
            raise RefusedError(401, "a bearer token of the policy's section `viewers` is needed")
        return self._viewers[holder.name]

    async def _usage(self, request: web.Request, viewer: Viewer) -> web.Response:
        query = request.query
        tenant = _tenant(query.get("tenant"), viewer)
        first, last = self._span(query.get("from"), query.get("to"))
        by = _by(query.get("by", By.DEPARTMENT.value))
        rollups = await self._tables.tables(tenant, list(days_between(first, last)))
        table = usage_table(tenant, (first, last), by, rollups, Prices(self._policy))
        currency = self._policy.currency
        if query.get("format", "json") == "csv":
            return _csv(as_csv(table, currency, bom=query.get("bom") == "1"), f"usage-{first}-{last}-{by.value}.csv")
        complete = self._complete_until()
        told = None if complete is None else to_rfc3339(complete - TOLD_WITHIN, self._calendar.zone)
        return web.json_response(as_json(table, self._calendar.zone, currency) | {"complete_until": told})

    async def _tenants(self, _: web.Request, viewer: Viewer) -> web.Response:
        known = self._tables.tenants()
        return web.json_response({"tenants": [name for name in known if viewer.tenant in (None, name)]})

    async def _budget(self, request: web.Request, viewer: Viewer) -> web.Response:
        tenant = _tenant(request.query.get("tenant"), viewer)
        found = await self._decided.read([f"tenant:{tenant}"])
        if not found:
            raise RefusedError(404, "nothing is decided about it")
        return web.json_response(as_budget(tenant, found[0], self._calendar.day(self._clock())))

    async def _decisions(self, request: web.Request, viewer: Viewer) -> web.Response:
        asked = request.query.get("scope")
        if viewer.tenant is not None:
            asked = _own_scope(asked, viewer.tenant)
        scopes = await self._decided.scopes() if asked is None else [asked]
        found = [decision.to_dict() for decision in await self._decided.read(scopes)]
        return web.json_response({"decisions": found})

    async def _explain(self, request: web.Request, viewer: Viewer) -> web.Response:
        asked = request.query.get("scope")
        scope = asked if viewer.tenant is None else _own_scope(asked, viewer.tenant)
        if scope is None:
            raise RefusedError(400, "scope is missing: model:NAME, tenant:NAME or global")
        found = await self._decided.read([scope])
        if not found:
            raise RefusedError(404, "nothing is decided about it")
        kept = await self._reasons.latest(scope)
        if kept is None:
            raise NotReadyError("the history does not have it yet")
        return web.json_response(explained(kept, found[0], self._rulebook, self._policy))

    def _span(self, first: str | None, last: str | None) -> tuple[Day, Day]:
        """From and to, both included; without them the current month."""
        today = self._calendar.day(self._clock())
        until = _day(last, "to") if last else max(today, _day(first, "from") if first else today)
        since = _day(first, "from") if first else f"{until[:7]}-01"
        if since > until:
            raise RefusedError(400, "from lies after to")
        if sum(1 for _ in days_between(since, until)) > MOST_DAYS:
            raise RefusedError(400, f"at most {MOST_DAYS} days are kept")
        return since, until


def _door(viewers: Iterable[Viewer]) -> Door:
    """Tokens are compared as those of senders are."""
    return Door(Sender(name=viewer.name, token=viewer.token, may=()) for viewer in viewers)


def _tenant(asked: str | None, viewer: Viewer) -> str:
    """Whose usage is shown. Empty: that of no tenant."""
    if viewer.tenant is not None:
        if asked not in (None, viewer.tenant):
            raise RefusedError(403, "this token shows another tenant")
        return viewer.tenant
    if asked is None:
        raise RefusedError(400, "tenant is missing; empty asks for what no tenant is named with")
    return asked


def _own_scope(asked: str | None, tenant: str) -> str:
    own = f"tenant:{tenant}"
    if asked not in (None, own):
        raise RefusedError(403, "this token shows another scope")
    return own


def _by(text: str) -> By:
    try:
        return By(text)
    except ValueError:
        raise RefusedError(400, f"by: {shown(text)} is not known{meant(text, [by.value for by in By])}") from None


def _day(text: str, name: str) -> Day:
    try:
        list(days_between(text, text))
    except (ValueError, OverflowError):
        raise RefusedError(400, f"{name}: {shown(text)} is no day like 2026-08-13") from None
    return text


def _csv(text: str, name: str) -> web.Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=text.encode(), content_type="text/csv", charset="utf-8", headers=headers)
