"""A tenant's remaining budget, as its decision tells it: the day's and the month's."""

from __future__ import annotations

from typing import Any

from blastdoor_gateway.contract import Decision

from rules.calendar import Day
from rules.tenant_budget import DAY, MONTH, month_of


def as_budget(tenant: str, decision: Decision, today: Day) -> dict[str, Any]:
    """Both windows of the day that was decided about; of a tenant that rests it is not today. No limit: null."""
    names = {DAY: decision.day, MONTH: month_of(decision.day)}
    return {
        "tenant": tenant,
        "today": today,
        "day": decision.day,
        "decided_at": decision.decided_at,
        "action": decision.action.value,
        "mode": decision.mode,
        "reason": decision.reason,
        "until": decision.until,
        "windows": [_window(kind, name, decision.windows) for kind, name in names.items()],
    }


def _window(kind: str, name: str, numbers: dict[str, int]) -> dict[str, Any]:
    used, limit = numbers.get(f"{kind}_used"), numbers.get(f"{kind}_limit")
    left = None if used is None or limit is None else limit - used
    return {"window": kind, "name": name, "used": used, "limit": limit, "left": left}
