"""The facts of a tenant that rules may use: one table for the book that fills them, for the check and for the docs."""

from __future__ import annotations

from rules.scope_facts import FactSpec, FactValue, decimal, flag, text, whole
from rules.switch import Order
from rules.tenant_budget import Window

TENANT_FACTS: tuple[FactSpec, ...] = (
    text("tenant", "name of the tenant", "acme"),
    text("day", "accounting day, YYYY-MM-DD", "2026-08-13"),
    text("month", "month of that day, YYYY-MM", "2026-08"),
    whole("used", "tokens used in the window that has the least left"),
    whole("limit", "tokens that may be used in that window, with what an operator gave on top", nullable=True),
    flag("limit_known", "there is a budget"),
    decimal("share", "used / limit; 0 without a budget, 1 where a limit of nothing is met"),
    text("wall", 'which window has the least left: "day", "month", or "" without a budget', "day", "month", ""),
    whole("day_used", "tokens used since the day began"),
    whole("day_limit", "the day's budget with what was given on top", nullable=True),
    whole("month_used", "tokens used since the month began"),
    whole("month_limit", "the month's budget with what was given on top", nullable=True),
    whole("given", "the part of limit that an operator gave on top"),
    text("beyond", "what the policy wants beyond the budget", "degrade", "block", "warn"),
    flag("killed", "an operator closed the tenant"),
    text("by", "who ordered that; empty where nobody did", "ann", ""),
    text("why", "the reason given with it", "a leaked key", ""),
)


def tenant_facts(
    tenant: str, windows: tuple[Window, Window], wall: Window | None, beyond: str, killed: Order | None
) -> dict[str, FactValue]:
    """All facts of a tenant. `killed`: the order that closes it."""
    day, month = windows
    shown = wall or day
    return {
        "tenant": tenant,
        "day": day.name,
        "month": month.name,
        "used": shown.used,
        "limit": shown.limit,
        "limit_known": wall is not None,
        "share": share(shown.used, shown.limit),
        "wall": "" if wall is None else wall.kind,
        "day_used": day.used,
        "day_limit": day.limit,
        "month_used": month.used,
        "month_limit": month.limit,
        "given": shown.given,
        "beyond": beyond,
        "killed": killed is not None,
        "by": "" if killed is None else killed.by,
        "why": "" if killed is None else killed.why,
    }


def share(used: int, limit: int | None) -> float:
    """How much of a limit is used."""
    if limit is None:
        return 0.0
    return used / limit if limit > 0 else 1.0
