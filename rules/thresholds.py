"""Which shares of a limit newly count as reached: each once per window and grant, however often it is asked.

A threshold is a share of the effective limit: 0.8 is 80 %. Reaching it exactly counts, an unknown limit never does.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from msgspec import Struct

from rules.alerts import Alert, Kind, Severity, alert_id
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
    grant: int = 0
    pool_low: int | None = None
    pool_high: int | None = None
    charged_high: int | None = None
    rule: str = ""
    reason: str = ""
    details: dict[str, str] = {}


class Raised(Struct, frozen=True):
    """What has been announced: window -> threshold -> the highest grant announced. Part of the scope's stored state."""

    windows: dict[Day, dict[str, int]] = {}


def newly_reached(standing: Standing, thresholds: Iterable[float], raised: Raised) -> tuple[list[Alert], Raised]:
    """The alerts to raise, lowest threshold first, and what has been announced then."""
    over = [t for t in sorted(set(thresholds)) if reached(standing.used, standing.limit, t)]
    fresh = [t for t in over if _is_news(standing, t, raised)]
    if not fresh:
        return [], raised
    return [_alert(standing, t) for t in fresh], _with(raised, standing, fresh)


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


def _with(raised: Raised, standing: Standing, fresh: list[float]) -> Raised:
    here = raised.windows.get(standing.window, {}) | {threshold_name(t): standing.grant for t in fresh}
    windows = raised.windows | {standing.window: here}
    return Raised({window: windows[window] for window in sorted(windows)[-WINDOWS_KEPT:]})


def _alert(standing: Standing, threshold: float) -> Alert:
    return Alert(
        id=alert_id(standing.scope, standing.window, threshold_name(threshold), standing.grant),
        kind=Kind.THRESHOLD,
        severity=Severity.CRITICAL if threshold >= 1 else Severity.WARNING,
        scope=standing.scope,
        at=standing.at,
        window=standing.window,
        threshold=float(threshold),
        grant=standing.grant,
        used=standing.used,
        limit=standing.limit,
        pool_low=standing.pool_low,
        pool_high=standing.pool_high,
        charged_high=standing.charged_high,
        rule=standing.rule,
        reason=standing.reason,
        details=dict(standing.details),
    )
