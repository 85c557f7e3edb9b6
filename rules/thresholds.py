"""Which shares of a limit newly count as reached: each once per window and grant, however often it is asked.

A threshold is a share of the effective limit: 0.8 is 80 %. Reaching it exactly counts, an unknown limit never does.
Once a limit was reached, a new window or grant in which it is not is told as well. Within one grant nothing is: a
limit that wavers would be told again and again.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rules.alerts import Alert, Ended, Kind, Severity, alert_id
from rules.calendar import Day
from rules.facts import Scope
from rules.moment import Millis

WINDOWS_KEPT = 2  # the current one and the one before: late usage may still raise yesterday's


class Standing(Struct, frozen=True, kw_only=True):
    """Where a scope stands in a window. There `grant` only rises: a return, a top-up or a new quota is a new one."""

    scope: Scope
    window: Day
    at: Millis
    used: int | None
    limit: int | None
    unit: str = ""
    grant: int = 0
    pool_low: int | None = None
    pool_high: int | None = None
    charged_high: int | None = None
    rule: str = ""
    reason: str = ""
    details: dict[str, str] = {}
    until: Millis | None = None  # the end of the window


class Over(Struct, frozen=True):
    """A threshold that was announced at `at` and has not been seen unreached in a later round."""

    threshold: float
    window: Day
    grant: int
    id: str
    at: Millis


class Raised(Struct, frozen=True):
    """What has been announced: window -> threshold -> the highest grant announced. Part of the scope's stored state."""

    windows: dict[Day, dict[str, int]] = {}
    over: tuple[Over, ...] = ()


def newly_reached(
    standing: Standing, thresholds: Iterable[float], raised: Raised, cooldown: Millis = 0
) -> tuple[list[Alert], Raised]:
    """The alerts to raise, lowest threshold first, and what has been announced then.

    Grants that come one by one and do not suffice are told together: a threshold still reached is told again when
    `cooldown` has passed.
    """
    here = [t for t in sorted(set(thresholds)) if reached(standing.used, standing.limit, t)]
    fresh = [t for t in here if _is_news(standing, t, raised) and not _is_hasty(standing, t, raised, cooldown)]
    if not fresh:
        return [], raised
    alerts = [_alert(standing, t) for t in fresh]
    return alerts, _with(raised, standing, fresh, alerts)


def newly_left(standing: Standing, raised: Raised) -> tuple[list[Alert], Raised]:
    """The one alert of a limit that was reached and in this round is not, if so, and what counts as reached then."""
    if not raised.over or standing.used is None or standing.limit is None:
        return [], raised
    left = [over for over in raised.over if _is_left(standing, over)]
    if not left:
        return [], raised
    after = Raised(raised.windows, tuple(over for over in raised.over if over not in left))
    return ([_recovery(standing, left)] if any(over.threshold >= 1 for over in left) else []), after


def reached(used: int | None, limit: int | None, threshold: float) -> bool:
    """Whether `used` is at least this share of `limit`, in whole numbers: 0.1 means one tenth exactly."""
    if used is None or limit is None:
        return False
    share = _share(threshold)
    return used * share.denominator >= share.numerator * limit


def threshold_name(threshold: float) -> str:
    """How a threshold is written in alert ids and stored state; 1 and 1.0 are the same."""
    return str(float(threshold))


@lru_cache(maxsize=64)
def _share(threshold: float) -> Fraction:
    return Fraction(threshold_name(threshold))


def _is_news(standing: Standing, threshold: float, raised: Raised) -> bool:
    known = raised.windows.get(standing.window)
    if known is None:
        # Older than everything kept: what was announced then is forgotten, so silence is the only safe answer.
        return len(raised.windows) < WINDOWS_KEPT or standing.window > min(raised.windows)
    return standing.grant > known.get(threshold_name(threshold), -1)


def _is_hasty(standing: Standing, threshold: float, raised: Raised, cooldown: Millis) -> bool:
    """Told a moment ago in this window, and reached ever since."""
    same = (over for over in raised.over if over.threshold == threshold and over.window == standing.window)
    return any(standing.at - over.at < cooldown for over in same)


def _is_left(standing: Standing, over: Over) -> bool:
    later = (standing.window, standing.grant) > (over.window, over.grant)
    return later and not reached(standing.used, standing.limit, over.threshold)


def _with(raised: Raised, standing: Standing, fresh: list[float], alerts: list[Alert]) -> Raised:
    here = raised.windows.get(standing.window, {}) | {threshold_name(t): standing.grant for t in fresh}
    windows = raised.windows | {standing.window: here}
    over = {each.threshold: each for each in raised.over}
    for threshold, alert in zip(fresh, alerts, strict=True):
        over[threshold] = Over(threshold, standing.window, standing.grant, alert.id, standing.at)
    kept = {window: windows[window] for window in sorted(windows)[-WINDOWS_KEPT:]}
    return Raised(kept, tuple(sorted(over.values(), key=lambda each: each.threshold)))


def _severity(threshold: float) -> Severity:
    return Severity.CRITICAL if threshold >= 1 else Severity.WARNING


def _recovery(standing: Standing, left: list[Over]) -> Alert:
    """Of the severity of what it ends, so that it takes the same ways."""
    (last,) = left[-1:]
    ends = tuple(
        Ended(id=each.id, kind=Kind.THRESHOLD, severity=_severity(each.threshold), threshold=each.threshold)
        for each in left
    )
    what = f"end:{last.id}"
    return replace(
        _alert(standing, last.threshold, what),
        kind=Kind.RECOVERED,
        threshold=None,
        until=None,
        ends=ends,
    )


def _alert(standing: Standing, threshold: float, what: str = "") -> Alert:
    return Alert(
        id=alert_id(standing.scope, standing.window, what or threshold_name(threshold), standing.grant),
        kind=Kind.THRESHOLD,
        severity=_severity(threshold),
        scope=standing.scope,
        at=standing.at,
        window=standing.window,
        threshold=float(threshold),
        grant=standing.grant,
        until=standing.until,
        used=standing.used,
        limit=standing.limit,
        unit=standing.unit,
        pool_low=standing.pool_low,
        pool_high=standing.pool_high,
        charged_high=standing.charged_high,
        rule=standing.rule,
        reason=standing.reason,
        details=dict(standing.details),
    )
