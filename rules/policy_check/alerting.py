"""The section `alerts`: what is announced, to whom and how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from rules.alerts import Kind, Severity
from rules.fault import Path, meant, shown
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Alerting, Digest, Route, Watch
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, clock, duration, exact, text, whole

NEVER = "never"

Names = frozenset[str] | None
"""The names that receivers may have; None: any."""


def _share(value: Any) -> float:
    found = exact(value)
    if not 0 < found <= 10:
        raise BadValueError(f"must be a share of the limit, above 0 and up to 10, found {shown(value)}; 0.8 means 80 %")
    return float(found)


def _part(value: Any) -> float:
    found = exact(value)
    if not 0 < found <= 1:
        raise BadValueError(f"must be a share above 0 and up to 1, found {shown(value)}; 0.8 means 80 %")
    return float(found)


def _repeat(value: Any) -> int:
    """0 for `never`."""
    return 0 if value == NEVER else int(duration(10 * MINUTE, 30 * DAY)(value))


def _link(value: Any) -> str:
    """An address for people; whoever needs a password to get there types it in himself."""
    found = text(value, 500)
    try:
        parts = urlsplit(found)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and not (parts.username or parts.password)
    except ValueError:
        good = False
    if not good or any(letter.isspace() for letter in found):
        raise BadValueError("must be an http:// or https:// address without user and password")
    return found


def _pattern(value: Any) -> str:
    found = text(value)
    if found != "*" and found.partition(":")[0] not in ("model", "tenant", "user", "ip", "global", "engine", "*"):
        raise BadValueError(f"must be a scope like model:*, tenant:acme, global or engine, found {shown(value)}")
    return found


ALERTS: dict[str, Read] = {
    "thresholds": anything,
    "send": anything,
    "routes": anything,
    "language": choice(("zh", "en")),
    "dashboard": _link,
    "group": duration(0, 10 * MINUTE),
    "cooldown": duration(0, DAY),
    "repeat": _repeat,
    "digest": anything,
    "watch": anything,
}
ROUTE: dict[str, Read] = {"severity": anything, "scope": anything, "kind": anything, "send": anything}
DIGEST: dict[str, Read] = {"at": clock, "send": anything}
WATCH: dict[str, Read] = {
    "behind": duration(30_000, DAY),
    "dead_letters": whole(1, 1_000_000),
    "redis_memory": _part,
    "expiring": duration(HOUR, 30 * DAY),
}


def alerts(inspection: Inspection, raw: object, known: Names) -> dict[str, Any]:
    """The section, with every mistake in it. Channels are known by name only."""
    path: Path = ("alerts",)
    given = inspection.fields(path, raw, ALERTS)
    readers: dict[str, Callable[[Path, object], Any]] = {
        "thresholds": lambda at, value: tuple(sorted(set(_several(inspection, at, value, _share)))),
        "send": lambda at, value: _receivers(inspection, at, value, known),
        "routes": lambda at, value: tuple(_route(inspection, *item, known) for item in inspection.items(at, value)),
        "digest": lambda at, value: _digest(inspection, at, value, known),
        "watch": lambda at, value: Watch(**inspection.fields(at, value, WATCH)),
    }
    for field, read in readers.items():
        if field in given:
            given[field] = read((*path, field), given[field])
    return {"alerts": Alerting(**given)}


def _route(inspection: Inspection, path: Path, raw: object, known: Names) -> Route:
    given = inspection.fields(path, raw, ROUTE, required=("send",))
    readers = {"severity": choice(tuple(Severity)), "scope": _pattern, "kind": choice(tuple(Kind))}
    for field, read in readers.items():
        if field in given:
            value = given[field]
            listed = value if isinstance(value, list | tuple) else [value]
            given[field] = tuple(_several(inspection, (*path, field), listed, read))
    if "send" in given:
        given["send"] = _receivers(inspection, (*path, "send"), given["send"], known)
    return Route(**given)


def _digest(inspection: Inspection, path: Path, raw: object, known: Names) -> Digest | None:
    given = inspection.fields(path, raw, DIGEST, required=("at",))
    if "send" in given:
        given["send"] = _receivers(inspection, (*path, "send"), given["send"], known)
    return Digest(**given) if "at" in given else None


def _several(inspection: Inspection, path: Path, raw: object, read: Read) -> list[Any]:
    found = [inspection.value(at, value, read) for at, value in inspection.items(path, raw)]
    return [value for value in found if value is not None]


def _receivers(inspection: Inspection, path: Path, raw: object, known: Names) -> tuple[str, ...]:
    found = []
    for at, value in inspection.items(path, raw):
        name = inspection.value(at, value, text)
        if name is not None and known is not None and name not in known:
            inspection.report(at, f"no channel has the name {shown(name)}{meant(name, known) or '; channels is empty'}")
        elif name is not None and name not in found:
            found.append(name)
    return tuple(found)
