"""Today's usage of the tenants of this worker as gauges, made anew whenever somebody asks for the metrics.

Rule 1: the sum of a gauge over its labels is all that was used: what has no name of its own is in `(other)`.
Rule 2: names are made up by strangers, so there are 20 tenants at most, 20 values of each, and no label is long.
Rule 3: names of users are personal data, and Prometheus forgets nothing on request: they are shown only if asked for.
"""

from __future__ import annotations

from collections.abc import Iterable

from rules.calendar import Day
from rules.prices import NANO, Prices
from rules.shares import Share, Shares, by_value, together
from rules.tenant_sheets import CROWD
from rules.usage_table import list_cost
from streams.bounded_gauges import label_value
from streams.metrics import OTHER, Metrics

UNASSIGNED = "(unassigned)"
"""Usage that names no tenant, department, user or knowledge base."""


class UsageGauges:
    """Sets the gauges from the tables of all partitions of a worker."""

    def __init__(self, metrics: Metrics, *, users: bool) -> None:
        self._tenants = metrics.usage_tenant
        self._money = metrics.usage_money
        self._dimensions = {
            "department": metrics.usage_department,
            "knowledge_base": metrics.usage_knowledge_base,
        }
        if users:
            self._dimensions["user"] = metrics.usage_user

    def show(self, tables: Iterable[Shares], today: Day | None, prices: Prices) -> None:
        """Show a day, and nothing of what was shown before. Without `today`: the newest day there is."""
        kept = list(tables)
        day = today or max((day for each in kept for day in each.days), default="")
        total, shares = together(each.days[day] for each in kept if day in each.days)
        for gauge in (self._tenants, self._money, *self._dimensions.values()):
            gauge.clear()
        for tenant, share in shares.items():
            self._show(name_of(tenant), share, day, prices)
        rest = total - sum(share.tokens for share in shares.values())
        if rest:
            self._tenants.labels(OTHER).inc(rest)
            for gauge in self._dimensions.values():
                gauge.labels(OTHER, OTHER).inc(rest)

    def _show(self, tenant: str, share: Share, day: Day, prices: Prices) -> None:
        """Numbers are added: two names may be shown as one."""
        self._tenants.labels(tenant).inc(share.tokens)
        if (cost := list_cost(share.models, day, prices)) is not None:
            self._money.labels(tenant).inc(cost / NANO)
        for dimension, gauge in self._dimensions.items():
            named = by_value(share, dimension)
            for value, tokens in named.items():
                gauge.labels(tenant, name_of(value)).inc(tokens)
            if rest := share.tokens - sum(named.values()):
                gauge.labels(tenant, OTHER).inc(rest)


def name_of(value: str) -> str:
    """What a name is shown as."""
    return OTHER if value == CROWD else label_value(value) or UNASSIGNED
