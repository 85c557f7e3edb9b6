"""The sections `tenants`, `limits`, `spend` and `prices`. Money stays in exact decimals from the file to the sum."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from rules.fault import Path, shown
from rules.policy import Budget, Price, Spend
from rules.policy_check.inspection import Inspection, anything
from rules.policy_check.values import BadValueError, Read, choice, exact, name, rate, text, tokens

# The dearest models cost a few hundred per million tokens in any currency, the cheapest some thousandths.
# Outside these somebody typed a price per token, or one per million into a field per token of another program.
DEAREST, CHEAPEST = Decimal(10_000), Decimal("0.0001")

MOST_MONEY = 4_000_000  # in nano-units still exact where gates count, in Redis's doubles
NANO = 10**9

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
    return _countable(found, value)


def _daily(value: Any) -> Decimal:
    found = exact(value)
    if not 0 < found <= MOST_MONEY:
        raise BadValueError(f"must be an amount of money above 0 and up to {MOST_MONEY:,}, found {shown(value)}")
    return _countable(found, value)


def _countable(found: Decimal, value: Any) -> Decimal:
    """Money is counted in whole nano-units."""
    if found * NANO != (found * NANO).to_integral_value():
        raise BadValueError(f"{shown(value)} has more than nine digits after the point; money is counted no finer")
    return found


def _since(value: Any) -> str:
    day = text(value)
    try:
        fine = date.fromisoformat(day).isoformat() == day
    except ValueError:
        fine = False
    if not fine:
        raise BadValueError(f"must be a day like 2026-09-01, found {shown(value)}")
    return day


def _currency(value: Any) -> str:
    if not _CURRENCY.fullmatch(text(value)):
        raise BadValueError(f"must be three capital letters like CNY, found {shown(value)}")
    return str(value)


BUDGET: dict[str, Read] = {
    "daily_tokens": tokens,
    "monthly_tokens": tokens,
    "over": choice(("degrade", "block", "warn")),
}
SPEND: dict[str, Read] = {
    "daily": _daily,
    "currency": _currency,
    "basis": choice(("charged", "list")),
    "unknown_price": anything,
}
PRICE: dict[str, Read] = {"input": _price, "cached_input": _price, "output": _price}
PERIOD: dict[str, Read] = {"from": _since, **PRICE}
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
    if "unknown_price" in given:
        path = ("spend", "unknown_price")
        assumed = _read(inspection, path, given["unknown_price"], PRICE)
        if assumed is not None and not assumed.input + assumed.output:
            inspection.report(path, "must not be 0: a model whose price is unknown would cost nothing")
        given["unknown_price"] = assumed
    return {"spend": Spend(**given)} if "daily" in given else {}


def prices(inspection: Inspection, raw: object) -> dict[str, Any]:
    """One price for a model, or a list of them, each valid `from` a day on."""
    found = {}
    for model, path, value in inspection.entries(("prices",), raw, name):
        if isinstance(value, list):
            found[model] = _periods(inspection, path, value)
        elif (price := _read(inspection, path, value, PERIOD)) is not None:
            found[model] = (price,)
    return {"prices": found}


def _periods(inspection: Inspection, path: Path, raw: list[Any]) -> tuple[Price, ...]:
    read = ((at, _read(inspection, at, value, PERIOD)) for at, value in inspection.items(path, raw))
    found: dict[str, Price] = {}
    for at, price in read:
        if price is not None and price.since in found:
            inspection.report(at, f"another price is valid from {price.since or 'the beginning'} on, too")
        elif price is not None:
            found[price.since] = price
    return tuple(found[since] for since in sorted(found))


def _read(inspection: Inspection, path: Path, raw: object, fields: dict[str, Read]) -> Price | None:
    given = inspection.fields(path, raw, fields, required=("input", "output"))
    if not given.keys() >= {"input", "output"}:
        return None
    price = Price(since=given.pop("from", ""), **given)
    if price.cached_input is not None and price.cached_input > price.input:
        inspection.report(
            (*path, "cached_input"),
            f"{price.cached_input} is more than input costs ({price.input}); cached tokens are the cheaper ones",
        )
    return price
