"""A usage table as JSON and as CSV (RFC 4180), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from datetime import tzinfo
from typing import Any

from rules.cells import AMOUNTS
from rules.moment import to_rfc3339
from rules.prices import NANO
from rules.usage_table import Amounts, UsageTable

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""Excel takes CSV for UTF-8 only where it begins with this."""

# A spreadsheet takes what begins so for a formula, in the widths of East Asian keyboards as well.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def as_json(table: UsageTable, zone: tzinfo, currency: str) -> dict[str, Any]:
    """The table as one JSON object."""
    return {
        "tenant": table.tenant,
        "from": table.first,
        "to": table.last,
        "by": table.by.value,
        "as_of": None if table.as_of is None else to_rfc3339(table.as_of, zone),
        "currency": currency,
        "rows": [{"value": row.value, "assigned": row.value != ""} | _sums(row.amounts) for row in table.rows],
        "other": _sums(table.other),
        "total": _sums(table.total),
    }


def as_csv(table: UsageTable, currency: str, *, bom: bool = False) -> str:
    """The rows, what is unassigned, and the rest; `kind` tells them apart, whatever a value is called."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([table.by.value, "kind", *AMOUNTS, f"cost_{currency}"])
    for row in table.rows:
        kind = "value" if row.value else "unassigned"
        writer.writerow([harmless(row.value), kind, *_numbers(row.amounts)])
    if any(_numbers(table.other)[:2]):
        writer.writerow(["", "other", *_numbers(table.other)])
    return (BOM if bom else "") + text.getvalue()


def harmless(value: str) -> str:
    """Text that no spreadsheet takes for a formula: where it would, an apostrophe goes before it."""
    risky = value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)
    return f"'{value}" if risky else value


def money(nanos: int) -> str:
    """Nano-units as an exact decimal."""
    whole, rest = divmod(nanos, NANO)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


def _sums(amounts: Amounts) -> dict[str, Any]:
    cost = None if amounts.cost is None else money(amounts.cost)
    return {name: getattr(amounts, name) for name in AMOUNTS} | {"cost": cost}


def _numbers(amounts: Amounts) -> list[Any]:
    return [getattr(amounts, name) for name in AMOUNTS] + ["" if amounts.cost is None else money(amounts.cost)]
