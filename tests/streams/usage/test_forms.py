"""A table as CSV opens in a spreadsheet and runs nothing; its sums are those of the JSON."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.policy import Policy, Price
from rules.prices import Prices
from rules.records import Usage
from rules.rollup import Rollup
from rules.tenant_sheets import TenantSheets
from rules.usage_table import By, UsageTable, usage_table
from streams.usage.forms import BOM, as_csv, as_json, harmless

DAYS = ("2026-08-13", "2026-08-14")
PRICE = Price(input=Decimal("1.25"), cached_input=Decimal("0.625"), output=Decimal(10))
DEARER = Price(input=Decimal("2.5"), output=Decimal(10), since=DAYS[1])
PRICES = Prices(Policy(prices={"m": (PRICE, DEARER)}))


def rollups(*departments: str) -> list[Rollup]:
    """A call of each department on each of two days."""
    sheets = TenantSheets()
    for day in DAYS:
        for number, department in enumerate(departments):
            call = Usage(
                id="", at=0, model="m", total_tokens=number + 1, prompt_tokens=number + 1, department=department
            )
            sheets.fold(day, "m", [call])
    return [Rollup("acme", day, 5, sheets.days[day][""].sheet()) for day in sheets.days]


def table(by: By, *departments: str) -> UsageTable:
    return usage_table("acme", DAYS, by, rollups(*departments), PRICES)


@given(st.lists(st.text(max_size=90), min_size=1, max_size=9, unique=True))
def test_csv_reads_back(departments: list[str]) -> None:
    """Whatever departments are called, each record has its columns, and the sums are the total."""
    found = table(By.DEPARTMENT, *departments)
    text = as_csv(found, "CNY")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert all(None not in row and None not in row.values() for row in rows)
    assert sum(int(row["tokens"]) for row in rows) == found.total.tokens
    assert not any(row["department"].lstrip().startswith(("=", "+", "-", "@", "＝")) for row in rows)
    assert text.endswith("\r\n")


@pytest.mark.parametrize("value", ['=HYPERLINK("x")', "+1", "-1", "@a", "\t=1", " =1", "＝1", "\u3000=1", "\r\n=1"])
def test_formulas_are_defused(value: str) -> None:
    """What a spreadsheet would run begins with an apostrophe; other names stay as they are."""
    assert harmless(value) == f"'{value}"
    assert harmless("rd=1") == "rd=1"


def test_kinds_are_told_apart() -> None:
    """A department called like our own words is a value; what is unassigned is not."""
    rows = list(csv.DictReader(io.StringIO(as_csv(table(By.DEPARTMENT, "other", ""), "CNY"), newline="")))
    assert [(row["department"], row["kind"]) for row in rows] == [("", "unassigned"), ("other", "value")]
    assert as_csv(table(By.DAY, "rd"), "CNY", bom=True).startswith(BOM)


def test_every_way_to_cut_has_the_same_total() -> None:
    """By department, by model and by day the rows add up to one total, with its exact cost."""
    for by in By:
        found = as_json(table(by, "rd", "hr", ""), Calendar().zone, "CNY")
        assert sum(row["tokens"] for row in found["rows"]) == found["total"]["tokens"] == 12
        assert found["total"]["cost"] == "0.0000225"
    assert [row.value for row in table(By.DAY, "rd").rows] == list(DAYS)


def test_an_unknown_price_is_no_price() -> None:
    """A model without a price makes the total unknown, never cheaper."""
    assert usage_table("acme", DAYS, By.MODEL, rollups("rd"), Prices(Policy())).total.cost is None
