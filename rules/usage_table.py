"""What was used, as a table: by department, user, knowledge base, model or day, over the days that were asked for.

The rows and `other` add up to `total`, for every dimension to the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from rules.calendar import Day
from rules.cells import AMOUNTS, DIMENSIONS, WIDTH, Cell, Sheet, add_up, merged
from rules.moment import Millis
from rules.policy import Price
from rules.rollup import Rollup

MOST_ROWS = 1_000
MOST_DAYS = 400
NANO = 10**9


class By(StrEnum):
    """What a table's rows are."""

    MODEL = "model"
    DEPARTMENT = "department"
    USER = "user"
    KNOWLEDGE_BASE = "knowledge_base"
    DAY = "day"


class Amounts(Struct, frozen=True, kw_only=True):
    """Sums. `cost` in nano-units of the currency, at list price; None where a price is not known or not asked for."""

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


def usage_table(
    tenant: str, span: tuple[Day, Day], by: By, rollups: Iterable[Rollup], prices: Mapping[str, Price]
) -> UsageTable:
    """The table; the most used rows first, days in their order."""
    days = sorted(rollups, key=lambda rollup: rollup.day)
    whole = merged((rollup.sheet for rollup in days), MOST_ROWS)
    if by is By.DAY:
        rows = [Row(value=each.day, amounts=_of_models(each.sheet, prices)) for each in days]
        other = Amounts()
    else:
        place = DIMENSIONS.index(by.value)
        cells = sorted(whole.dimensions[place].items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        rows = [Row(value=value, amounts=_amounts(cell, _cost(by, value, cell, prices))) for value, cell in cells]
        other = _amounts(whole.other[place], None)
    return UsageTable(
        tenant=tenant,
        first=span[0],
        last=span[1],
        by=by,
        rows=tuple(rows),
        other=other,
        total=_of_models(whole, prices),
        as_of=max((each.at for each in days), default=None),
    )


def cost_of(cell: Cell, price: Price) -> int:
    """What tokens cost at list price, in nano-units: rounded up, so that a part of a unit is never free."""
    _, _, prompt, completion, cached, *_ = cell
    cached_price = price.input if price.cached_input is None else price.cached_input
    per_million = (prompt - cached) * price.input + cached * cached_price + completion * price.output
    numerator, denominator = (per_million * NANO / 10**6).as_integer_ratio()
    return -(-numerator // denominator)


def _of_models(sheet: Sheet, prices: Mapping[str, Price]) -> Amounts:
    """The sums over all models. Their cost is known if that of each is."""
    cells = sheet.models.items()
    costs = [_cost(By.MODEL, model, cell, prices) for model, cell in cells]
    known = not any(sheet.other[0]) and None not in costs and costs
    return _amounts(add_up((*sheet.models.values(), sheet.other[0])), sum(map(int, costs)) if known else None)  # type: ignore[arg-type]


def _cost(by: By, value: str, cell: Cell, prices: Mapping[str, Price]) -> int | None:
    price = prices.get(value) if by is By.MODEL else None
    return None if price is None else cost_of(cell, price)


def _amounts(cell: Cell, cost: int | None) -> Amounts:
    return Amounts(**dict(zip(AMOUNTS, cell[:WIDTH], strict=True)), cost=cost)
