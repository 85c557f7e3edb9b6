"""The whole document: which keys there are, and how its sections become one Policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rules.fault import Fault, Lines
from rules.moment import MINUTE
from rules.policy import Mode, Policy
from rules.policy_check.alerting import alerts
from rules.policy_check.delivery import channels, gateways
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.models import aliases, check_shadowed, models
from rules.policy_check.money import limits, prices, spend, tenants
from rules.policy_check.providers import check_claims, providers
from rules.policy_check.rule_list import rule_list
from rules.policy_check.senders import senders
from rules.policy_check.values import Read, choice, clock, duration, tokens, whole, zone
from rules.policy_check.viewers import viewers

PLAIN: dict[str, Read] = {
    "timezone": zone,
    "day_starts": clock,
    "mode": lambda value: Mode(choice(tuple(Mode))(value)),
    "lateness": duration(0, 10 * MINUTE),
    "close_after_days": whole(1, 30),
    "gate_buffer": tokens,
}

Section = Callable[[Inspection, object], dict[str, Any]]
SECTIONS: dict[str, Section] = {
    "models": models,
    "aliases": aliases,
    "channels": channels,
    "gateways": gateways,
    "providers": providers,
    "senders": senders,
    "viewers": viewers,
    "tenants": tenants,
    "limits": limits,
    "spend": spend,
    "prices": prices,
    "rules": lambda inspection, raw: {"rules": rule_list(inspection, ("rules",), raw)},
}

CONTAINERS = (*SECTIONS, "alerts")
KEYS = (*PLAIN, *CONTAINERS)
"""What may stand at the top of a policy file."""


def check(raw: object, lines: Lines | None = None) -> Policy | list[Fault]:
    """The policy, or every mistake in the order of the file. Never raises, whatever the document holds.

    An empty section counts as left out. Secrets stay references; who reads the file resolves them.
    """
    inspection = Inspection(lines or {})
    found = _read({} if raw is None else raw, inspection)
    if inspection.faults:
        return sorted(inspection.faults)
    return Policy(**found).hashed()


def _read(raw: object, inspection: Inspection) -> dict[str, Any]:
    readers = PLAIN | dict.fromkeys(CONTAINERS, anything)
    if isinstance(raw, Mapping):
        raw = {key: value for key, value in raw.items() if value is not None or key not in CONTAINERS}
    given = inspection.fields((), raw, readers)
    found = {key: value for key, value in given.items() if key in PLAIN}
    for key, section in SECTIONS.items():
        if key in given:
            found |= section(inspection, given[key])
    if "alerts" in given:
        found |= alerts(inspection, given["alerts"], _names(given.get("channels")))
    for key in ("models", "prices"):
        check_shadowed(inspection, key, found.get(key, {}), found.get("aliases", {}))
    check_claims(inspection, found.get("providers", {}), found.get("aliases", {}))
    return found


def _names(channels: object) -> frozenset[str] | None:
    """The names of all channels, also of those with mistakes; None where there is no telling."""
    if channels is None:
        return frozenset()
    return frozenset(filter(lambda name: isinstance(name, str), channels)) if isinstance(channels, Mapping) else None
