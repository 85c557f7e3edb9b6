"""What of a ruling people should hear: thresholds reached, rules that ask for an alert, and what the inference
noticed. Each once."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from rules.alerts import Alert, Kind, Severity, alert_id
from rules.moment import HOUR
from rules.policy import Alerting
from rules.pool_state import Notice
from rules.ruling import Ruling
from rules.thresholds import Raised, Standing, newly_reached, reached

KEPT = 200  # ids remembered; far more than two windows of one scope can raise

CRITICAL = frozenset({Kind.LAG_BOUND_BROKEN, Kind.UNEXPLAINED})
# The daily course of things: in the history, and no more.
SILENT = frozenset({Kind.ARRIVAL, Kind.CALIBRATED, Kind.EXPIRED})


class Announced(Struct, frozen=True):
    """What has been said of a scope. Part of its stored state, so a restart repeats nothing."""

    raised: Raised = Raised()
    ids: tuple[str, ...] = ()  # of rules and notices, oldest first


def announce(
    ruling: Ruling, notices: Iterable[Notice], said: Announced, alerting: Alerting
) -> tuple[list[Alert], Announced]:
    """The alerts to raise now, and what has been said then."""
    crossed, raised = newly_reached(_standing(ruling), alerting.thresholds, said.raised)
    others = [_noticed(ruling, notice) for notice in notices if notice.kind not in SILENT]
    if ruling.severity and not _told_by_threshold(ruling, alerting):
        others.append(_ruled(ruling, Severity(ruling.severity)))
    fresh = {alert.id: alert for alert in others if alert.id not in said.ids}
    return [*crossed, *fresh.values()], Announced(raised, (*said.ids, *fresh)[-KEPT:])


def foreign_write(ruling: Ruling, key: str) -> Alert:
    """Somebody else writes a key that is ours. It has been overwritten; once a day and key people hear of it."""
    reason = (
        f"{key} was written by somebody else and has been overwritten: is a gateway's own balance sync still running?"
    )
    return _alert(ruling, Kind.FOREIGN_WRITE, Severity.WARNING, f"{Kind.FOREIGN_WRITE}:{key}", reason, {"key": key})


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
        grant=ruling.bounds.grant,
        pool_low=ruling.pool_low,
        pool_high=ruling.pool_high,
        charged_high=ruling.bounds.charged_high,
        rule=ruling.rule,
        reason=ruling.reason,
        details={"wall": ruling.wall},
    )


def _noticed(ruling: Ruling, notice: Notice) -> Alert:
    severity = Severity.CRITICAL if notice.kind in CRITICAL else Severity.WARNING
    numbers = {name: str(value) for name, value in notice.numbers.items()}
    return _alert(ruling, notice.kind, severity, f"{notice.kind}:{_occasion(notice)}", notice.reason, numbers)


def _occasion(notice: Notice) -> int:
    """What makes it another one: for a lag that grows minute by minute the next full hour, for all else its time."""
    lag = notice.numbers.get("lag_ms")
    return notice.at if lag is None else lag // HOUR


def _ruled(ruling: Ruling, severity: Severity) -> Alert:
    return _alert(ruling, Kind.RULE, severity, f"rule:{ruling.rule}", ruling.reason, {})


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
        pool_low=ruling.pool_low,
        pool_high=ruling.pool_high,
        charged_high=ruling.bounds.charged_high,
        rule=ruling.rule,
        reason=reason,
        details=details,
    )
