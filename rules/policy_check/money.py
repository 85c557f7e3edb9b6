"""The sections `tenants`, `limits`, `spend` and `prices`. Money stays in exact decimals from the file to the sum."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from rules.fault import Path, shown
from rules.policy import Budget, Price, Spend
from rules.policy_check.inspection import Inspection
from rules.policy_check.values import BadValueError, Read, choice, exact, name, rate, text, tokens

# The dearest models cost a few hundred per million tokens in any currency, the cheapest some thousandths.
# Outside these somebody typed a price per token, or one per million into a field per token of another program.
DEAREST, CHEAPEST = Decimal(10_000), Decimal("0.0001")

_CURRENCY = re.compile(r"[A-Z]{3}")


def _price(value: Any) -> Decimal:
    found = exact(value)
    if found < 0:
        raise BadValueError(f"must not be negative, found {shown(value)}")
    if found > DEAREST:
        raise BadValueError(f"{shown(value)} per million tokens looks a million times too high; write 1.5, not 1500000")
    if 0 < found < CHEAPEST:
        raise BadValueError(
            f"{shown(value)} per million tokens looks like the price of one token; multiply by a million"
        )
    return found


def _daily(value: Any) -> Decimal:
    found = exact(value)
    if not 0 < found <= 10**9:
        raise BadValueError(f"must be an amount of money above 0 and up to 1,000,000,000, found {shown(value)}")
    return found


def _currency(value: Any) -> str:
    if not _CURRENCY.fullmatch(text(value)):
        raise BadValueError(f"must be three capital letters like CNY, found {shown(value)}")
    return str(value)


BUDGET: dict[str, Read] = {
    "daily_tokens": tokens,
    "monthly_tokens": tokens,
    "over": choice(("degrade", "block", "warn")),
}
SPEND: dict[str, Read] = {"daily": _daily, "currency": _currency, "basis": choice(("charged", "list"))}
PRICE: dict[str, Read] = {"input": _price, "cached_input": _price, "output": _price}
LIMITS: dict[str, Read] = {"per_ip": rate, "per_user": rate}


def tenants(inspection: Inspection, raw: object) -> dict[str, Any]:
    """`default` holds for every tenant, also those never seen; an entry takes what it leaves out from there."""
    given = {
        tenant: inspection.fields(path, budget, BUDGET)
        for tenant, path, budget in inspection.entries(("tenants",), raw, name)
    }
    default = replace(Budget(), **given.pop("default", {}))
    return {"tenant_default": default, "tenants": {tenant: replace(default, **own) for tenant, own in given.items()}}


def limits(inspection: Inspection, raw: object) -> dict[str, Any]:
    return {"limits": inspection.fields(("limits",), raw, LIMITS)}


def spend(inspection: Inspection, raw: object) -> dict[str, Any]:
    given = inspection.fields(("spend",), raw, SPEND, required=("daily",))
    return {"spend": Spend(**given)} if "daily" in given else {}


def prices(inspection: Inspection, raw: object) -> dict[str, Any]:
    found = {}
    for model, path, value in inspection.entries(("prices",), raw, name):
        given = inspection.fields(path, value, PRICE, required=("input", "output"))
        if given.keys() >= {"input", "output"}:
            found[model] = Price(**given)
            _check_cached(inspection, path, found[model])
    return {"prices": found}


def _check_cached(inspection: Inspection, path: Path, price: Price) -> None:
    if price.cached_input is not None and price.cached_input > price.input:
        inspection.report(
            (*path, "cached_input"),
            f"{price.cached_input} is more than input costs ({price.input}); cached tokens are the cheaper ones",
        )
