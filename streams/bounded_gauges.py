"""Gauges over names that callers make up or rules bring: what is shown stays bounded and tells one thing at a time."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from prometheus_client import Gauge

TENANTS_SHOWN = 50
WINDOWS = ("day", "month")

LONGEST = 64  # characters of a label
_KEPT = 51
_MISLEADING = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""Ends of lines, what turns the direction of writing, and what is no character at all."""


class TopTenants:
    """Used and limit of the tenants that use most on this worker. Who uses more than the least of those shown takes its
    place; the exact numbers of every tenant stand in its decision."""

    def __init__(self, used: Gauge, limit: Gauge, places: int = TENANTS_SHOWN) -> None:
        self._gauge_used = used
        self._gauge_limit = limit
        self._places = places
        self._used: dict[str, int] = {}  # of those shown
        self._least = 0  # not above any of them

    def put(self, tenant: str, windows: Mapping[str, int]) -> None:
        """Show a tenant, if it is one of those that use most in a day. `windows`: `day_used`, `day_limit` and so on."""
        used = windows.get("day_used", 0)
        if tenant not in self._used and not self._has_room(used):
            return
        self._used[tenant] = used
        self._least = min(self._least, used)
        label = label_value(tenant)
        for window in WINDOWS:
            _set(self._gauge_used, windows.get(f"{window}_used"), label, window)
            _set(self._gauge_limit, windows.get(f"{window}_limit"), label, window)

    def drop(self, tenant: str) -> None:
        """Take a tenant's gauges away."""
        self._used.pop(tenant, None)
        for gauge in (self._gauge_used, self._gauge_limit):
            for window in WINDOWS:
                _set(gauge, None, label_value(tenant), window)

    def _has_room(self, used: int) -> bool:
        """Whether somebody new with that much has a place; the one with the least leaves it."""
        if len(self._used) < self._places:
            return True
        if used <= self._least:
            return False
        least = min(self._used, key=self._used.__getitem__)
        self._least = self._used[least]
        if used <= self._least:
            return False
        self.drop(least)
        return True


class OneOf:
    """A gauge that is 1 for the one label value that holds for a name now; what held before is absent."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._held: dict[str, str] = {}

    def put(self, name: str, value: str) -> None:
        """This value holds now."""
        if self._held.get(name) != value:
            self.drop(name)
            self._held[name] = value
            self._gauge.labels(name, value).set(1)

    def drop(self, name: str) -> None:
        """Nothing holds any more."""
        if (held := self._held.pop(name, None)) is not None:
            _remove(self._gauge, name, held)


class Tally:
    """How many scopes of each kind stand under each action."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._held: dict[str, str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def put(self, scope: str, action: str) -> None:
        """This action is in force for the scope now."""
        if self._held.get(scope) != action:
            self.drop(scope)
            self._held[scope] = action
            self._count(scope, action, 1)

    def drop(self, scope: str) -> None:
        """The scope is somebody else's now."""
        if (held := self._held.pop(scope, None)) is not None:
            self._count(scope, held, -1)

    def _count(self, scope: str, action: str, change: int) -> None:
        place = scope.partition(":")[0], action
        self._counts[place] += change
        self._gauge.labels(*place).set(self._counts[place])


def label_value(name: str) -> str:
    """A name as a label: of bounded length, on one line. What had to be changed is told apart by a hash."""
    shown = _MISLEADING.sub(" ", name)
    if shown == name and len(name) <= LONGEST:
        return name
    return f"{shown[:_KEPT]}…{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _set(gauge: Gauge, value: int | None, *labels: str) -> None:
    if value is None:
        _remove(gauge, *labels)
    else:
        gauge.labels(*labels).set(value)


def _remove(gauge: Gauge, *labels: str) -> None:
    with suppress(KeyError):
        gauge.remove(*labels)
