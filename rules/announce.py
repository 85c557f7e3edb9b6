"""What of a ruling people should hear: thresholds reached, rules that ask for an alert, and what the inference
noticed. Each once, and once more when it is over."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from rules.alerts import Alert, Ended, Kind, Severity, alert_id
from rules.episodes import Cadence, Condition, Episode, Telling, follow, named
from rules.moment import HOUR
from rules.policy import Alerting
from rules.pool_state import Notice
from rules.ruling import Ruling
from rules.thresholds import Raised, Standing, newly_left, newly_reached, reached

KEPT = 200  # ids remembered; far more than two windows of one scope can raise

CRITICAL = frozenset({Kind.LAG_BOUND_BROKEN, Kind.UNEXPLAINED})
# The daily course of things: in the history, and no more.
SILENT = frozenset({Kind.ARRIVAL, Kind.CALIBRATED, Kind.EXPIRED})
# Noticed when they begin; that they still hold is in the pool's state.
LASTING = frozenset({Kind.USAGE_WITHOUT_READINGS, Kind.CLOCKS_APART, Kind.RETURN_OVERDUE})
LAPSING = frozenset({Kind.RETURN_OVERDUE})


# What they say at the limit the 100 % alert says as well.
LIMIT_RULES = frozenset({"model-pool-spent", "model-cap-reached", "global-spend-reached"})


class Announced(Struct, frozen=True):
    """What has been said of a scope. Part of its stored state, so a restart repeats nothing."""

    raised: Raised = Raised()
    ids: tuple[str, ...] = ()  # of notices, oldest first
    episodes: dict[str, Episode] = {}


def announce(
    ruling: Ruling,
    notices: Iterable[Notice],
    said: Announced,
    alerting: Alerting,
    lasting: Collection[str] = (),
    concerns: Iterable[Condition] = (),
) -> tuple[list[Alert], Announced]:
    """The alerts to raise now, and what has been said then.

    `lasting`: kinds of notices given earlier that still hold; `concerns`: what else holds now.
    """
    standing = _standing(ruling)
    back, raised = newly_left(standing, said.raised)
    crossed, raised = newly_reached(standing, alerting.thresholds, raised, alerting.cooldown)
    given = [notice for notice in notices if notice.kind not in SILENT]
    events = (_noticed(ruling, notice) for notice in given if notice.kind not in LASTING)
    fresh = {alert.id: alert for alert in events if alert.id not in said.ids}
    conditions = [*_conditions(ruling, given, said.episodes, alerting, lasting), *concerns]
    told, episodes = _follow(ruling, conditions, said.episodes, alerting)
    ids = (*said.ids, *fresh)[-KEPT:] if fresh else said.ids
    return _joined([*back, *crossed, *told, *fresh.values()]), Announced(raised, ids, episodes)


def foreign_write(ruling: Ruling, key: str) -> Alert:
    """Somebody else writes a key that is ours. It has been overwritten; once a day and key people hear of it."""
    reason = (
        f"{key} was written by somebody else and has been overwritten: is a gateway's own balance sync still running?"
    )
    return _alert(ruling, Kind.FOREIGN_WRITE, Severity.WARNING, f"{Kind.FOREIGN_WRITE}:{key}", reason, {"key": key})


def outbid(ruling: Ruling) -> Alert:
    """Somebody else publishes decisions under our name, and newer ones. Ours are above them again; once a day."""
    reason = "Redis held a newer decision than ours: does a second engine run with the same Redis and prefix?"
    return _alert(ruling, Kind.FOREIGN_WRITE, Severity.WARNING, f"{Kind.FOREIGN_WRITE}:decision", reason, {})


def _told_by_threshold(ruling: Ruling, alerting: Alerting) -> bool:
    """At the limit the 100 % alert tells it; the rule behind it would tell it twice."""
    return 1.0 in alerting.thresholds and reached(ruling.used, ruling.limit, 1.0)


def _standing(ruling: Ruling) -> Standing:
    return Standing(
        scope=ruling.scope,
        window=ruling.day,
        at=ruling.at,
        used=ruling.used,
        limit=ruling.limit,
        unit=ruling.unit,
        grant=ruling.bounds.grant,
        pool_low=ruling.pool_low,
        pool_high=ruling.pool_high,
        charged_high=ruling.bounds.charged_high,
        rule=ruling.rule,
        reason=ruling.told or ruling.reason,
        details={"wall": ruling.wall},
        until=ruling.until,
    )


def _conditions(
    ruling: Ruling,
    notices: Iterable[Notice],
    episodes: dict[str, Episode],
    alerting: Alerting,
    lasting: Collection[str],
) -> Iterator[Condition]:
    """Everything that holds now and is to be told as long as it does."""
    fresh = {str(notice.kind): notice for notice in notices if notice.kind in LASTING}
    for kind in lasting:
        if kind in fresh:
            yield _lasting(fresh[kind])
        elif kind in episodes:
            yield episodes[kind].condition
    told = _told_by_threshold(ruling, alerting)
    for asked in ruling.asked:
        what = f"rule:{asked.rule}"
        if _goes_on(episodes.get(what)) or not (told and asked.rule in {ruling.rule, *LIMIT_RULES}):
            yield Condition(
                what=what,
                kind=Kind.RULE,
                severity=Severity(asked.severity),
                reason=asked.reason,
                rule=asked.rule,
                daily=True,
            )


def _goes_on(episode: Episode | None) -> bool:
    return episode is not None and not episode.over


def _lasting(notice: Notice) -> Condition:
    return Condition(
        what=str(notice.kind),
        kind=notice.kind,
        severity=_weight(notice.kind),
        reason=notice.reason,
        details=_numbers(notice),
        lapses=notice.kind in LAPSING,
    )


def _follow(
    ruling: Ruling, conditions: list[Condition], episodes: dict[str, Episode], alerting: Alerting
) -> tuple[list[Alert], dict[str, Episode]]:
    if not conditions and not episodes:
        return [], episodes
    cadence = Cadence(cooldown=alerting.cooldown, repeat=alerting.repeat or None)
    tellings, found = follow(conditions, episodes, ruling.day, ruling.at, cadence)
    alerts = []
    for telling in tellings:
        alert = _told(ruling, telling)
        found = named(found, telling, alert.id)
        alerts.append(alert)
    return alerts, found


def _joined(alerts: list[Alert]) -> list[Alert]:
    """Where one rule takes over from another, what begins tells the end as well: nothing is well again."""
    begun = next((alert for alert in alerts if alert.kind in (Kind.RULE, Kind.THRESHOLD) and not alert.again), None)
    ended = [alert for alert in alerts if alert.ends and alert.ends[0].kind is Kind.RULE]
    if begun is None or not ended:
        return alerts
    taking_over = replace(begun, ends=tuple(end for alert in ended for end in alert.ends))
    return [taking_over if alert is begun else alert for alert in alerts if alert not in ended]


def _told(ruling: Ruling, telling: Telling) -> Alert:
    condition, ended = telling.condition, telling.ended
    if ended is not None:
        return _over(ruling, telling.what, ended)
    alert = _alert(ruling, condition.kind, condition.severity, telling.what, condition.reason, condition.details)
    return replace(alert, again=telling.again)


def _over(ruling: Ruling, what: str, ended: Ended) -> Alert:
    """Of the severity of what it ends, so that it takes the same ways."""
    alert = _alert(ruling, Kind.RECOVERED, ended.severity, what, ruling.told or ruling.reason, {})
    return replace(alert, ends=(ended,))


def _noticed(ruling: Ruling, notice: Notice) -> Alert:
    what = f"{notice.kind}:{_occasion(notice)}"
    return _alert(ruling, notice.kind, _weight(notice.kind), what, notice.reason, _numbers(notice))


def _weight(kind: Kind) -> Severity:
    return Severity.CRITICAL if kind in CRITICAL else Severity.WARNING


def _numbers(notice: Notice) -> dict[str, str]:
    return {name: str(value) for name, value in notice.numbers.items()}


def _occasion(notice: Notice) -> int:
    """What makes it another one: for a lag that grows minute by minute the next full hour, for all else its time."""
    lag = notice.numbers.get("lag_ms")
    return notice.at if lag is None else lag // HOUR


def _alert(ruling: Ruling, kind: Kind, severity: Severity, what: str, reason: str, details: dict[str, str]) -> Alert:
    return Alert(
        id=alert_id(ruling.scope, ruling.day, what, ruling.bounds.grant),
        kind=kind,
        severity=severity,
        scope=ruling.scope,
        at=ruling.at,
        window=ruling.day,
        grant=ruling.bounds.grant,
        used=ruling.used,
        limit=ruling.limit,
        unit=ruling.unit,
        pool_low=ruling.pool_low,
        pool_high=ruling.pool_high,
        charged_high=ruling.bounds.charged_high,
        rule=ruling.rule,
        reason=reason,
        details=details,
    )
