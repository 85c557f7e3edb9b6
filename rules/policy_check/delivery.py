"""The sections `channels` and `gateways`: where alerts go, and who tells us of usage.

Channels hold references to secrets here (`env:NAME`, `file:PATH`), never the secrets.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from rules.fault import masked, shown
from rules.policy import Channel, Gateway
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, flag, plain_name, text

KINDS = ("feishu", "webhook", "alertmanager", "apprise")
WITHOUT = {  # what a kind of channel has no use for, and why
    ("webhook", "schema"): "belongs to a Feishu card; a webhook has none",
    ("alertmanager", "schema"): "belongs to a Feishu card; Alertmanager has none",
    ("apprise", "schema"): "belongs to a Feishu card; apprise has none",
    ("apprise", "secret"): "is part of the URL with apprise; leave the key out",
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")

REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:\S.*")


def reference(value: Any) -> str:
    """Where a secret is kept. The value given is never repeated in a message."""
    if isinstance(value, str) and _is_reference(value):
        return value
    raise BadValueError("holds a plain value; a secret is never written here: write env:NAME or file:PATH")


def _is_reference(value: Any) -> bool:
    return value is None or (isinstance(value, str) and REFERENCE.fullmatch(value) is not None)


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


CHANNEL: dict[str, Read] = {"kind": choice(KINDS), "url": address, "secret": reference, "schema": _schema}
GATEWAY: dict[str, Read] = {
    "usage": choice(("events", "log", "daily_usage")),
    "guard": flag,
    "daily_usage": choice(("gateway", "engine")),
    "hashes": anything,
}


def channels(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for name, path, value in inspection.entries(("channels",), raw, plain_name):
        given = inspection.fields(path, value, CHANNEL, required=("kind", "url"))
        for (kind, field), why in WITHOUT.items():
            if field in given and given.get("kind") == kind:
                inspection.report((*path, field), why)
        if given.get("kind") == "apprise" and not _is_reference(given.get("url")):
            inspection.report((*path, "url"), "may hold a secret; write env:NAME or file:PATH")
        if given.keys() >= {"kind", "url"}:
            found[name] = Channel(name=name, **given)
    return {"channels": found}


def gateways(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for name, path, value in inspection.entries(("gateways",), raw, plain_name):
        given = inspection.fields(path, value, GATEWAY)
        if "hashes" in given:
            read = [
                inspection.value(at, each, text) for at, each in inspection.items((*path, "hashes"), given["hashes"])
            ]
            given["hashes"] = tuple(dict.fromkeys(each for each in read if each is not None))
        gateway = Gateway(name=name, **given)
        if gateway.usage == "daily_usage" and gateway.daily_usage == "engine":
            inspection.report(
                (*path, "daily_usage"),
                "the engine cannot write the keys it reads usage from; write gateway, or another usage",
            )
        found[name] = gateway
    _check_overlap(inspection, found)
    return {"gateways": found}


def _check_overlap(inspection: Inspection, found: dict[str, Gateway]) -> None:
    """A call that is told twice counts twice: of counters next to other sources it must be said which are their own."""
    owners: dict[str, str] = {}
    for gateway in found.values():
        path = ("gateways", gateway.name, "hashes")
        if gateway.usage != "daily_usage":
            if gateway.hashes:
                inspection.report(path, "belongs to a gateway with usage: daily_usage")
            continue
        if not gateway.hashes and len(found) > 1:
            inspection.report(path, "is missing: name the key hashes that only this one counts under, no other source")
        for key_hash in gateway.hashes:
            if key_hash in owners:
                inspection.report(path, f"{shown(key_hash)} belongs to {masked(owners[key_hash])} already")
            owners.setdefault(key_hash, gateway.name)
