"""The sections `alerts`, `channels` and `gateways`: whom decisions are told, and who tells us of usage.

Channels hold references to secrets here (`env:NAME`, `file:PATH`), never the secrets.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from rules.fault import Path, meant, shown
from rules.policy import Alerting, Channel, Gateway
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, exact, flag, plain_name, text

KINDS = ("feishu", "webhook")
LOOPBACK = ("127.0.0.1", "localhost", "::1")

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*")


def reference(value: Any) -> str:
    """Where a secret is kept. The value given is never repeated in a message."""
    if isinstance(value, str) and _REFERENCE.fullmatch(value):
        return value
    raise BadValueError("holds a plain value; a secret is never written here: write env:NAME or file:PATH")


def address(value: Any) -> str:
    """A reference, or the literal address of a receiver on this machine, which gives nothing away."""
    return value if isinstance(value, str) and _is_local(value) else reference(value)


def _is_local(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return (
            parts.scheme == "http"
            and parts.hostname in LOOPBACK
            and not (parts.query or parts.username or parts.password)
            and (parts.port or 80) > 0
        )
    except ValueError:
        return False


def _schema(value: Any) -> str:
    """Unquoted, 2.0 is a number in YAML."""
    return str(choice(("1.0", "2.0"))(str(value) if isinstance(value, Decimal | float) else value))


def _share(value: Any) -> float:
    found = exact(value)
    if not 0 < found <= 10:
        raise BadValueError(f"must be a share of the limit, above 0 and up to 10, found {shown(value)}; 0.8 means 80 %")
    return float(found)


CHANNEL: dict[str, Read] = {"kind": choice(KINDS), "url": address, "secret": reference, "schema": _schema}
ALERTS: dict[str, Read] = {"thresholds": anything, "send": anything, "language": choice(("zh", "en"))}
GATEWAY: dict[str, Read] = {
    "usage": choice(("events", "log", "daily_usage")),
    "guard": flag,
    "daily_usage": choice(("gateway", "engine")),
}


def channels(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for name, path, value in inspection.entries(("channels",), raw, plain_name):
        given = inspection.fields(path, value, CHANNEL, required=("kind", "url"))
        if "schema" in given and given.get("kind") == "webhook":
            inspection.report((*path, "schema"), "belongs to a Feishu card; a webhook has none")
        if given.keys() >= {"kind", "url"}:
            found[name] = Channel(name=name, **given)
    return {"channels": found}


def alerts(inspection: Inspection, raw: object, known: frozenset[str] | None) -> dict[str, Any]:
    """`known`: the names that receivers may have; None: any."""
    path: Path = ("alerts",)
    given = inspection.fields(path, raw, ALERTS)
    if "thresholds" in given:
        shares = [
            inspection.value(at, value, _share)
            for at, value in inspection.items((*path, "thresholds"), given["thresholds"])
        ]
        given["thresholds"] = tuple(sorted({share for share in shares if share is not None}))
    if "send" in given:
        given["send"] = tuple(_receivers(inspection, (*path, "send"), given["send"], known))
    return {"alerts": Alerting(**given)}


def _receivers(inspection: Inspection, path: Path, raw: object, known: frozenset[str] | None) -> list[str]:
    found = []
    for at, value in inspection.items(path, raw):
        name = inspection.value(at, value, text)
        if name is not None and known is not None and name not in known:
            inspection.report(at, f"no channel has the name {shown(name)}{meant(name, known) or '; channels is empty'}")
        elif name is not None and name not in found:
            found.append(name)
    return found


def gateways(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for name, path, value in inspection.entries(("gateways",), raw, plain_name):
        gateway = Gateway(name=name, **inspection.fields(path, value, GATEWAY))
        if gateway.usage == "daily_usage" and gateway.daily_usage == "engine":
            inspection.report(
                (*path, "daily_usage"),
                "the engine cannot write the keys it reads usage from; write gateway, or another usage",
            )
        found[name] = gateway
    return {"gateways": found}
