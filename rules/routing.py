"""To which channels an alert goes: the first route that fits decides, and where none does, `send`."""

from __future__ import annotations

import re
from functools import lru_cache

from rules.alerts import Alert, Kind
from rules.policy import Alerting, Route


def receivers(alert: Alert, alerting: Alerting) -> tuple[str, ...]:
    """The names of channels. The report of a day goes where the policy sends it, if it says so."""
    if alert.kind is Kind.DIGEST and alerting.digest is not None and alerting.digest.send is not None:
        return alerting.digest.send
    return next((route.send for route in alerting.routes if fits(route, alert)), alerting.send)


def fits(route: Route, alert: Alert) -> bool:
    """Whether all conditions of a route hold. What ends something is of the kind of what it ends, too."""
    kinds = {alert.kind.value, *(ended.kind.value for ended in alert.ends)}
    return (
        (not route.severity or alert.severity.value in route.severity)
        and (not route.kind or not kinds.isdisjoint(route.kind))
        and (not route.scope or any(_pattern(scope).fullmatch(alert.scope) for scope in route.scope))
    )


@lru_cache(maxsize=1024)
def _pattern(scope: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, scope.split("*"))), re.DOTALL)
