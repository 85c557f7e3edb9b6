"""The sections `models` and `aliases`: how each model's limit is made, and which names mean the same model."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rules.fault import Path, masked
from rules.formulas import FORMULAS
from rules.moment import DAY, MINUTE, SECOND
from rules.policy import ModelTerms, Unknown
from rules.policy_check.inspection import Inspection
from rules.policy_check.values import Read, brief, choice, duration, name, tokens

TERMS: dict[str, Read] = {
    "daily_cap": tokens,
    "small_buffer": tokens,
    "formula": choice(FORMULAS),
    "max_lag": duration(SECOND, 7 * DAY),
    "lag_ceiling": duration(MINUTE, 7 * DAY),
    "stale_after": duration(MINUTE, 30 * DAY),
    "unknown": lambda value: Unknown(choice(tuple(Unknown))(value)),
}


def models(inspection: Inspection, raw: object) -> dict[str, Any]:
    """`default` holds for all models; an entry of a model's own takes what it leaves out from there."""
    given = {
        model: (path, inspection.fields(path, terms, TERMS))
        for model, path, terms in inspection.entries(("models",), raw, name)
    }
    path, own = given.pop("default", ((), {}))
    default = replace(ModelTerms(), **own)
    _check_lag(inspection, path, own, default)
    found = {}
    for model, (path, own) in given.items():
        found[model] = replace(default, **own)
        _check_lag(inspection, path, own, found[model])
    return {"default": default, "models": found}


def _check_lag(inspection: Inspection, path: Path, own: dict[str, Any], terms: ModelTerms) -> None:
    """Only where the entry itself says something about it: an inherited mistake is reported once."""
    if terms.max_lag > terms.lag_ceiling and ("max_lag" in own or "lag_ceiling" in own):
        key = "max_lag" if "max_lag" in own else "lag_ceiling"
        inspection.report(
            (*path, key),
            f"max_lag {brief(terms.max_lag)} is above lag_ceiling {brief(terms.lag_ceiling)}; raise lag_ceiling too",
        )


def aliases(inspection: Inspection, raw: object) -> dict[str, Any]:
    """Chains are followed to their end, so that one look-up is enough; circles are mistakes."""
    given = {
        alias: found
        for alias, path, value in inspection.entries(("aliases",), raw, name)
        if (found := inspection.value(path, value, name))
    }
    found = {}
    for alias in given:
        way = _follow(alias, given)
        if way[-1] not in way[:-1]:
            found[alias] = way[-1]
        elif way[-1] == alias and alias == min(way):  # every circle is reported once
            inspection.report(("aliases", alias), _circle(way))
    return {"aliases": found}


def _follow(alias: str, given: dict[str, str]) -> list[str]:
    """The names on the way from an alias, up to the model or the first name met again."""
    way = [alias]
    while (onward := given.get(way[-1])) is not None:
        way.append(onward)
        if onward in way[:-1]:
            break
    return way


def _circle(way: list[str]) -> str:
    if len(way) == 2:
        return "is an alias of itself"
    return f"leads back to itself: {' → '.join(masked(step) for step in way)}"


def check_shadowed(inspection: Inspection, section: str, named: dict[str, Any], known: dict[str, str]) -> None:
    """What is said about an alias would never be used: events carry the model's one name."""
    for model in named:
        if model in known:
            inspection.report((section, model), f"is an alias; write this under '{masked(known[model])}'")
