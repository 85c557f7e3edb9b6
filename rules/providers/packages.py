"""Rows of a provider's package list become balances per model.

Rule 1: a package counts for the one model whose list of names it matches; never by a part of its name.
Rule 2: what cannot be read makes its model's balance unknown, never smaller or zero.
Rule 3: the same package twice (pages overlap while packages come and go) counts once, at its lower amount.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from rules.moment import EARLIEST, LATEST, Millis, from_datetime
from rules.providers.answer import Balance, Leftover
from rules.records import Package

MOST_TOKENS = 10**12
UNITS = frozenset({"token", "tokens"})

Names = Mapping[str, tuple[str, ...]]
"""Model -> the codes and names of its packages. `/…/` is a regular expression that must match the whole."""


class Row(Struct, frozen=True, kw_only=True):
    """One package as the provider writes it: everything is text."""

    id: str
    code: str
    name: str
    unit: str
    total: str
    available: str
    effective: str
    expires: str


class Gathered(Struct, frozen=True):
    """The balances of the models that have packages, and the rows that count for none. `met`: every model that a row
    matched, also those whose balance is unknown because of it."""

    balances: tuple[Balance, ...]
    leftovers: tuple[Leftover, ...]
    met: frozenset[str] = frozenset()


class _UnreadableError(Exception):
    """A field of a row that cannot be used."""


def gather(rows: Iterable[Row], names: Names, zone: tzinfo) -> Gathered:
    """Sort the rows under their models. A time without a zone is one of `zone`."""
    packages: dict[str, dict[str, Package]] = {}
    spoiled: set[str] = set()
    met: set[str] = set()
    leftovers: set[Leftover] = set()
    for row in rows:
        models = matching(row, names)
        met.update(models)
        why = _misplaced(row, models)
        if why:
            leftovers.add(_leftover(row, why))
            continue
        try:
            _add(packages.setdefault(models[0], {}), _package(row, zone))
        except _UnreadableError as unreadable:
            spoiled.add(models[0])
            leftovers.add(_leftover(row, f"{unreadable}; {models[0]} has no balance because of it"))
    balances = tuple(_balance(model, found) for model, found in sorted(packages.items()) if model not in spoiled)
    return Gathered(balances, tuple(sorted(leftovers)), frozenset(met))


def matching(row: Row, names: Names) -> list[str]:
    """The models that claim a package; one of them, if all is well."""
    return [model for model, patterns in names.items() if any(_matches(row, pattern) for pattern in patterns)]


def _matches(row: Row, pattern: str) -> bool:
    if is_expression(pattern):
        return any(re.fullmatch(pattern[1:-1], text) for text in (row.code, row.name))
    return pattern in {row.code, row.name}


def is_expression(pattern: str) -> bool:
    """Whether a name is written as `/regular expression/`."""
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


def _misplaced(row: Row, models: list[str]) -> str:
    if row.unit.strip().casefold() not in UNITS:
        return f"its unit is {row.unit[:20]!r}, not token"
    if not models:
        return "no model of the policy names it"
    return f"several models claim it: {', '.join(models)}" if len(models) > 1 else ""


def _leftover(row: Row, why: str) -> Leftover:
    return Leftover(row.code[:100], row.name[:100], row.id[:100], why)


def _package(row: Row, zone: tzinfo) -> Package:
    if not row.id:
        raise _UnreadableError("it has no id")
    total, available = _amount("total", row.total), _amount("available", row.available)
    effective, expires = _instant("effective", row.effective, zone), _instant("expires", row.expires, zone)
    if expires < effective:
        raise _UnreadableError("it ends before it begins")
    return Package(id=row.id, total=max(total, available), available=available, effective=effective, expires=expires)


def _amount(field: str, written: str) -> int:
    """Whole tokens, rounded down. An overdrawn package (less than nothing left) has nothing left."""
    try:
        found = Decimal(written.strip())
    except InvalidOperation:
        raise _UnreadableError(f"{field}: {written[:40]!r} is no number") from None
    if not found.is_finite() or abs(found) > MOST_TOKENS:
        raise _UnreadableError(f"{field}: {written[:40]!r} is no number of tokens")
    return max(0, int(found))


def _instant(field: str, written: str, zone: tzinfo) -> Millis:
    """Providers write "never" as a far year: the end of time here."""
    try:
        when = datetime.fromisoformat(written.strip())
    except ValueError:
        raise _UnreadableError(f"{field}: {written[:40]!r} is no time") from None
    if when.year >= 2100:
        return LATEST - 1
    at = from_datetime(when if when.tzinfo else when.replace(tzinfo=zone))
    if at < EARLIEST:
        raise _UnreadableError(f"{field}: {written[:40]!r} is before the year 2000")
    return at


def _add(found: dict[str, Package], package: Package) -> None:
    twin = found.get(package.id)
    if twin is None or package.available < twin.available:
        found[package.id] = package


def _balance(model: str, found: dict[str, Package]) -> Balance:
    packages = tuple(found[name] for name in sorted(found))
    return Balance(model=model, available=sum(package.available for package in packages), packages=packages)


def vanished(before: Iterable[Balance], now: Iterable[Balance], at: Millis) -> list[str]:
    """Packages that had tokens and time left and are not listed any more: used up, or lost between two pages."""
    listed = {package.id for balance in now for package in balance.packages or ()}
    return [
        package.id
        for balance in before
        for package in balance.packages or ()
        if package.available > 0 and package.expires > at and package.id not in listed
    ]
