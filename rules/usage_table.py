"""What was used, as a table: by department, user, knowledge base, model or day, over the days that were asked for.

The rows and `other` add up to `total`, for every dimension to the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from rules.calendar import Day
from rules.cells import AMOUNTS, DIMENSIONS, WIDTH, Cell, Sheet, merged
from rules.facts import Sums
from rules.moment import Millis
from rules.prices import Nano, Prices, Tariff, cost
from rules.rollup import Rollup

MOST_ROWS = 1_000
MOST_DAYS = 400


class By(StrEnum):
    """What a table's rows are."""

    MODEL = "model"
    DEPARTMENT = "department"
    USER = "user"
    KNOWLEDGE_BASE = "knowledge_base"
    DAY = "day"


class Amounts(Struct, frozen=True, kw_only=True):
    """Sums. `cost` in nano-units of the currency, at list price; None where it is not known."""

    tokens: int = 0
    requests: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_hits: int = 0
    saved: int = 0
    cost: int | None = None


class Row(Struct, frozen=True, kw_only=True):
    """One value with its sums; an empty value names what is unassigned."""

    value: str
    amounts: Amounts


class UsageTable(Struct, frozen=True, kw_only=True):
    """`as_of`: when the newest of what is in it was put together; None: nothing is."""

    tenant: str
    first: Day
    last: Day
    by: By
    rows: tuple[Row, ...]
    other: Amounts
    total: Amounts
    as_of: Millis | None


def usage_table(tenant: str, span: tuple[Day, Day], by: By, rollups: Iterable[Rollup], prices: Prices) -> UsageTable:
    """The table; the most used rows first, days in their order."""
    days = sorted(rollups, key=lambda rollup: rollup.day)
    whole = merged((rollup.sheet for rollup in days), MOST_ROWS)
    costs = [_costs(each.sheet, each.day, prices) for each in days]
    if by is By.DAY:
        pairs = zip(days, costs, strict=True)
        rows = [Row(value=each.day, amounts=_amounts(each.sheet.total(), _sum(cost.values()))) for each, cost in pairs]
        other = Amounts()
    else:
        place = DIMENSIONS.index(by.value)
        cells = sorted(whole.dimensions[place].items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        rows = [Row(value=value, amounts=_amounts(cell, _of_model(by, value, costs))) for value, cell in cells]
        other = _amounts(whole.other[place], None)
    return UsageTable(
        tenant=tenant,
        first=span[0],
        last=span[1],
        by=by,
        rows=tuple(rows),
        other=other,
        total=_amounts(whole.total(), _sum(cost for of_day in costs for cost in of_day.values())),
        as_of=max((each.at for each in days), default=None),
    )


def list_cost(sheet: Sheet, day: Day, prices: Prices) -> Nano | None:
    """What the tokens of a tenant's day cost; None where the price of some is not known."""
    return _sum(_costs(sheet, day, prices).values())


def _costs(sheet: Sheet, day: Day, prices: Prices) -> dict[str, Nano | None]:
    """What each model's tokens of the day cost at the day's price; what has found no place has none."""
    found = {model: _cost(cell, prices.of(model, day)) for model, cell in sheet.models.items()}
    return found | ({"": None} if any(sheet.other[0]) else {})


def _cost(cell: Cell, tariff: Tariff) -> Nano | None:
    tokens, requests, prompt, completion, cached, *_ = cell
    return cost(Sums(tokens, requests, prompt, completion, cached), tariff) if tariff.known else None


def _of_model(by: By, model: str, costs: Sequence[dict[str, Nano | None]]) -> Nano | None:
    return _sum(of_day[model] for of_day in costs if model in of_day) if by is By.MODEL else None


def _sum(costs: Iterable[Nano | None]) -> Nano | None:
    """Known if each is."""
    total = 0
    for each in costs:
        if each is None:
            return None
        total += each
    return total


def _amounts(cell: Cell, money: Nano | None) -> Amounts:
    return Amounts(**dict(zip(AMOUNTS, cell[:WIDTH], strict=True)), cost=money)
