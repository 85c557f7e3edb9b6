"""The section `providers`: whom the poller asks for balances, with which keys, and which packages mean which model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rules.fault import Path, masked, shown
from rules.moment import DAY, HOUR, MINUTE
from rules.policy import Provider
from rules.policy_check.delivery import address, reference
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, duration, flag, name, plain_name, text
from rules.providers.packages import is_expression

KINDS = ("volcengine", "aliyun", "http", "file")

_HOST = re.compile(r"[A-Za-z0-9.-]{1,200}(:[0-9]{1,5})?")


def _host(value: Any) -> str:
    """A host name, or the whole address of a stand-in on this machine."""
    if isinstance(value, str) and _HOST.fullmatch(value):
        return value
    found = address(value)
    if not found.startswith("http"):
        raise BadValueError("must be a host name like open.volcengineapi.com")
    return found


PROVIDER: dict[str, Read] = {
    "kind": choice(KINDS),
    "packages": anything,
    "access_key": reference,
    "secret_key": reference,
    "region": plain_name,
    "host": _host,
    "products": anything,
    "settled": flag,
    "url": address,
    "token": reference,
    "path": text,
    "every": duration(MINUTE, DAY),
    "least": duration(MINUTE, HOUR),
}

_BILLING = ("packages", "access_key", "secret_key")
_OWN = {
    "volcengine": (*_BILLING, "region", "host", "products", "settled"),
    "aliyun": (*_BILLING, "region", "host", "products"),
    "http": ("url", "token"),
    "file": ("path",),
}
_REQUIRED = {"volcengine": _BILLING, "aliyun": _BILLING, "http": ("url",), "file": ("path",)}
_COMMON = ("kind", "every", "least")


def providers(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for key, path, value in inspection.entries(("providers",), raw, plain_name):
        given = inspection.fields(path, value, PROVIDER, required=("kind",))
        kind = given.get("kind")
        if kind is None:
            continue
        _check_kind(inspection, path, kind, given, value)
        given["packages"] = _packages(inspection, (*path, "packages"), given.get("packages", {}))
        given["products"] = tuple(_texts(inspection, (*path, "products"), given.get("products", [])))
        found[key] = provider = Provider(name=key, **given)
        if provider.least > provider.every:
            inspection.report((*path, "least"), "is longer than every")
    return {"providers": found}


def _check_kind(inspection: Inspection, path: Path, kind: str, given: dict[str, Any], raw: object) -> None:
    for field in given:
        if field not in (*_COMMON, *_OWN[kind]):
            inspection.report((*path, field), f"does not belong to a provider of the kind {kind}")
    for field in _REQUIRED[kind]:
        if isinstance(raw, Mapping) and field not in raw:
            inspection.report((*path, field), f"is missing: a provider of the kind {kind} needs it")


def _packages(inspection: Inspection, path: Path, raw: object) -> dict[str, tuple[str, ...]]:
    found = {}
    for model, at, value in inspection.entries(path, raw, name):
        patterns = tuple(_texts(inspection, at, [value] if isinstance(value, str) else value))
        if not patterns:
            inspection.report(at, "must name a package by its code or name")
        found[model] = patterns
    return found


def _texts(inspection: Inspection, path: Path, raw: object) -> list[str]:
    read = [inspection.value(at, value, _pattern) for at, value in inspection.items(path, raw)]
    return [value for value in read if value is not None]


def _pattern(value: Any) -> str:
    found = text(value)
    if is_expression(found):
        try:
            re.compile(found[1:-1])
        except (re.error, RecursionError, OverflowError):
            raise BadValueError(f"{shown(found)} is no regular expression") from None
    return found


def check_claims(inspection: Inspection, known: Mapping[str, Provider], aliases: Mapping[str, str]) -> None:
    """A model's balance comes from one place, under the model's one name."""
    claimed: dict[str, str] = {}
    for provider in known.values():
        for model in provider.packages:
            path = ("providers", provider.name, "packages", model)
            if model in aliases:
                inspection.report(path, f"is an alias; write this under '{masked(aliases[model])}'")
            elif model in claimed:
                inspection.report(path, f"the provider {masked(claimed[model])} tells this model's balance already")
            claimed.setdefault(model, provider.name)
