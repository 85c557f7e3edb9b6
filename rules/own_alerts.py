"""Alerts about blastdoor itself: conditions without a ruling, told as those of a model are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rules.alerts import Alert, Kind, alert_id
from rules.calendar import Day
from rules.episodes import Cadence, Condition, Episode, Telling, follow, named
from rules.facts import Scope
from rules.moment import Millis
from rules.policy import Alerting


def tell(
    scope: Scope,
    holding: Iterable[Condition],
    episodes: Mapping[str, Episode],
    window: Day,
    now: Millis,
    alerting: Alerting,
) -> tuple[list[Alert], dict[str, Episode]]:
    """What is to be said of the conditions that hold, and the episodes then."""
    cadence = Cadence(cooldown=alerting.cooldown, repeat=alerting.repeat or None)
    tellings, found = follow(list(holding), episodes, window, now, cadence)
    alerts = []
    for telling in tellings:
        alert = _alert(scope, telling, window, now)
        found = named(found, telling, alert.id)
        alerts.append(alert)
    return alerts, found


def _alert(scope: Scope, telling: Telling, window: Day, now: Millis) -> Alert:
    condition, ended = telling.condition, telling.ended
    return Alert(
        id=alert_id(scope, window, telling.what, 0),
        kind=condition.kind if ended is None else Kind.RECOVERED,
        severity=condition.severity,
        scope=scope,
        at=now,
        window=window,
        reason=condition.reason if ended is None else "",
        details=condition.details if ended is None else {},
        again=telling.again,
        ends=() if ended is None else (ended,),
    )
