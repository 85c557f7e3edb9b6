"""The facts of a model that rules may use: one table for the judge that fills them, for the check and for the docs."""

from __future__ import annotations

from collections.abc import Mapping

from rules.scope_facts import FactSpec, FactValue, decimal, flag, text, whole

MODEL_FACTS: tuple[FactSpec, ...] = (
    text("model", "canonical name of the model", "deepseek-v4-flash"),
    text("day", "accounting day, YYYY-MM-DD", "2026-08-13"),
    whole("used", "tokens used since the day began"),
    whole(
        "limit",
        "tokens that may be used since the day began: the lower of the pool's and the cap's wall",
        nullable=True,
    ),
    flag("limit_known", "there is a limit"),
    decimal("share", "used / limit; 0 while the limit is unknown, 1 where a limit of nothing is met"),
    text("wall", 'what bounds the limit: "pool", "cap", or "" while it is unknown', "pool", "cap", ""),
    whole("pool_low", "tokens the day has at least: used so far + certainly remaining", nullable=True),
    whole("pool_high", "tokens the day has at most", nullable=True),
    whole("charged_low", "tokens that were charged for certain", nullable=True),
    whole("charged_high", "tokens that may have been charged", nullable=True),
    flag("complete", "all usage before the newest reading has arrived"),
    decimal("lag_seconds", "how far the provider's books are behind, in seconds", nullable=True),
    decimal("lag_bound_seconds", "the bound D on that lag which is believed now, in seconds"),
    flag("stale", "the newest reading is older than the policy's stale_after; false before the first"),
    decimal("reading_age_seconds", "age of the newest reading in seconds; null where there is none", nullable=True),
    text("unknown_mode", 'the policy\'s word for unknown or stale: "close" or "hold"', "close", "hold"),
)


def model_facts(  # one argument a row of the table
    *,
    model: str,
    day: str,
    used: int,
    limit: int | None,
    wall: str,
    pool_low: int | None,
    pool_high: int | None,
    charged_low: int | None,
    charged_high: int | None,
    complete: bool,
    lag_seconds: float | None,
    lag_bound_seconds: float,
    stale: bool,
    reading_age_seconds: float | None,
    unknown_mode: str,
) -> dict[str, FactValue]:
    """All facts of a model; `share` and `limit_known` follow from the others."""
    return {
        "model": model,
        "day": day,
        "used": used,
        "limit": limit,
        "limit_known": limit is not None,
        "share": _share(used, limit),
        "wall": wall,
        "pool_low": pool_low,
        "pool_high": pool_high,
        "charged_low": charged_low,
        "charged_high": charged_high,
        "complete": complete,
        "lag_seconds": None if lag_seconds is None else float(lag_seconds),
        "lag_bound_seconds": float(lag_bound_seconds),
        "stale": stale,
        "reading_age_seconds": None if reading_age_seconds is None else float(reading_age_seconds),
        "unknown_mode": unknown_mode,
    }


def derive_share(known: Mapping[str, FactValue]) -> dict[str, FactValue]:
    """The facts that follow from the others, for tests of rules, which give what matters to them."""
    used, limit = known.get("used"), known.get("limit")
    tokens = limit if isinstance(limit, int) else None
    return {"limit_known": tokens is not None, "share": _share(used if isinstance(used, int) else 0, tokens)}


def _share(used: int, limit: int | None) -> float:
    if limit is None:
        return 0.0
    return used / limit if limit > 0 else 1.0
