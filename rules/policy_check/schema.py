"""The policy file as JSON Schema, made of the tables that the check itself goes by: an editor tells most mistakes while
one types. What no schema can say (names that must exist, sums, secrets) the check says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rules.alerts import Kind, Severity
from rules.documented import SCOPE_FACTS
from rules.policy import Mode, Unknown
from rules.policy_check.alerting import ALERTS, DIGEST, NEVER, ROUTE, WATCH
from rules.policy_check.delivery import CHANNEL, GATEWAY, REFERENCE
from rules.policy_check.document import CONTAINERS, PLAIN
from rules.policy_check.models import TERMS
from rules.policy_check.money import BUDGET, CHEAPEST, DEAREST, LIMITS, PERIOD, PRICE, SPEND
from rules.policy_check.providers import PROVIDER
from rules.policy_check.rule_list import EFFECT, LONGEST_CONDITION, REQUIRED, RULE
from rules.policy_check.senders import MAY, SENDER
from rules.policy_check.values import Read, Shape, shape_of
from rules.policy_check.viewers import VIEWER
from rules.saying import LANGUAGES

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TEXT: Shape = {"type": "string", "minLength": 1}
SECRET: Shape = {"type": "string", "pattern": f"^({REFERENCE.pattern})$", "description": "env:NAME or file:PATH"}
ADDRESS: Shape = {
    "anyOf": [SECRET, {"type": "string", "pattern": r"^http://(127\.0\.0\.1|localhost|\[::1\])[:/]?"}],
    "description": "env:NAME, file:PATH, or the http:// address of this machine",
}
AMOUNT: Shape = {"type": "number", "exclusiveMinimum": 0}
MONEY: Shape = {
    "anyOf": [{"const": 0}, {"type": "number", "minimum": float(CHEAPEST), "maximum": int(DEAREST)}],
    "description": "per million tokens",
}
CURRENCY: Shape = {"type": "string", "pattern": "^[A-Z]{3}$"}
DAY: Shape = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$", "description": "an accounting day"}
SAYS: Shape = {
    "anyOf": [
        TEXT,
        {"type": "object", "properties": dict.fromkeys(LANGUAGES, TEXT), "additionalProperties": False},
    ]
}
TEXTS: Shape = {"type": "array", "items": TEXT}


def _table(readers: Mapping[str, Read], required: tuple[str, ...] = (), **own: Shape) -> Shape:
    """A mapping with these keys and no others. `own`: shapes of what is looked into by somebody else."""
    properties = {key: own.get(key) or shape_of(read) for key, read in readers.items()}
    shape: Shape = {"type": "object", "properties": properties, "additionalProperties": False}
    return shape | ({"required": list(required)} if required else {})


def _named(entry: Shape) -> Shape:
    return {"type": "object", "additionalProperties": entry}


def _some(words: Any) -> Shape:
    """A word or a list of words."""
    one: Shape = {"enum": [str(word) for word in words]} if words else TEXT
    return {"anyOf": [one, {"type": "array", "items": one}]}


def _alerts() -> Shape:
    route = _table(
        ROUTE, ("send",), severity=_some(tuple(Severity)), scope=_some(()), kind=_some(tuple(Kind)), send=TEXTS
    )
    repeat = {"anyOf": [{"const": NEVER}, shape_of(ALERTS["cooldown"])], "description": "10m to 30d, or never"}
    return _table(
        ALERTS,
        thresholds={"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 10}},
        send=TEXTS,
        routes={"type": "array", "items": route},
        dashboard=TEXT,
        repeat=repeat,
        digest=_table(DIGEST, ("at",), send=TEXTS),
        watch=_table(WATCH, redis_memory={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    )


def _rules() -> Shape:
    facts = {kind: ", ".join(spec.name for spec in specs) for kind, specs in SCOPE_FACTS.items()}
    told = "a condition in CEL over the facts of the scope. " + ". ".join(
        f"{kind}: {names}" for kind, names in facts.items()
    )
    condition: Shape = {"anyOf": [{"type": "boolean"}, TEXT | {"maxLength": LONGEST_CONDITION}], "description": told}
    effect = _table(EFFECT, ("action",))
    return {"type": "array", "items": _table(RULE, REQUIRED, when=condition, clear=condition, then=effect, says=SAYS)}


def _providers() -> Shape:
    one_or_more: Shape = {"anyOf": [TEXT, TEXTS | {"minItems": 1}]}
    return _named(
        _table(
            PROVIDER,
            ("kind",),
            packages=_named(one_or_more),
            access_key=SECRET,
            secret_key=SECRET,
            token=SECRET,
            url=ADDRESS,
            host=TEXT,
            products=TEXTS,
        )
    )


def _price(readers: Mapping[str, Read]) -> Shape:
    own = {"from": DAY, "input": MONEY, "cached_input": MONEY, "output": MONEY}
    return _table(readers, ("input", "output"), **own)


def _sections() -> dict[str, Shape]:
    channel = _table(CHANNEL, ("kind", "url"), url=ADDRESS, secret=SECRET, schema={"enum": ["1.0", "2.0", 1.0, 2.0]})
    return {
        "models": _named(_table(TERMS, unknown={"enum": [str(word) for word in Unknown]})),
        "aliases": _named(TEXT),
        "alerts": _alerts(),
        "channels": _named(channel),
        "gateways": _named(_table(GATEWAY, hashes=TEXTS)),
        "providers": _providers(),
        "senders": _named(
            _table(SENDER, ("token",), token=SECRET, may={"type": "array", "items": {"enum": list(MAY)}})
        ),
        "viewers": _named(_table(VIEWER, ("token",), token=SECRET)),
        "tenants": _named(_table(BUDGET)),
        "limits": _table(LIMITS),
        "spend": _table(SPEND, ("daily",), daily=AMOUNT, currency=CURRENCY, unknown_price=_price(PRICE)),
        "prices": _named({"anyOf": [_price(PERIOD), {"type": "array", "items": _price(PERIOD)}]}),
        "rules": _rules(),
    }


def schema() -> Shape:
    """The whole file. A section may be empty."""
    sections = _sections()
    containers = {key: {"anyOf": [sections.get(key, {}), {"type": "null"}]} for key in CONTAINERS}
    plain = {key: shape_of(read) for key, read in PLAIN.items()} | {"mode": {"enum": [str(word) for word in Mode]}}
    return {
        "$schema": DIALECT,
        "title": "blastdoor policy",
        "type": ["object", "null"],
        "properties": plain | containers,
        "additionalProperties": False,
    }
