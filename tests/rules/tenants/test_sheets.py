"""Usage by tenant: exact in every dimension, whatever strangers call themselves and however the log is cut."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.cells import LONGEST, Sheet, merged, shortened
from rules.records import Usage
from rules.rollup import Part, Rollups
from rules.sheet_keeping import SheetKeeper
from rules.tenant_sheets import CROWD, TenantSheets
from tests.rules.tenants.calls import DAY, HOSTILE, call, calls, expected, totals


def folded(found: list[Usage], **bounds: int) -> TenantSheets:
    sheets = TenantSheets(guards=["gate"], **bounds)
    for each in found:
        sheets.fold(DAY, each.model, [each])
    sheets.settle()
    return sheets


@given(calls, st.integers(1, 3), st.integers(1, 3))
def test_every_dimension_adds_up(found: list[Usage], most_values: int, most_tenants: int) -> None:
    """Values + other = total, the same for all four dimensions, with any bounds."""
    sheets = folded(found, most_values=most_values, most_tenants=most_tenants)
    assert totals(sheets.days.get(DAY, {})) == [expected(found)] * 4
    guarded = sum(each.total_tokens for each in found if each.source == "gate" and not each.cache_hit)
    assert sum(sheet.guarded for sheet in sheets.days.get(DAY, {}).values()) == guarded


@given(calls, st.integers(1, 7))
def test_batches_change_nothing(found: list[Usage], size: int) -> None:
    """Cut into batches and settled in between, the sums of values are those of one batch."""
    one, many = folded(found), TenantSheets(guards=["gate"])
    for at in range(0, len(found), size):
        for each in found[at : at + size]:
            many.fold(DAY, each.model, [each])
        many.settle()
    assert many.days == one.days


class Life:
    """A partition's keeper that may die at any flush; only what was stored survives."""

    def __init__(self, partition: int = 0) -> None:
        self.partition = partition
        self.rows: dict[str, Any] = {}
        self.position = 0
        self.told: list[Part] = []
        self.start()

    def start(self) -> None:
        self.keeper = SheetKeeper(self.partition, TenantSheets(guards=["gate"], most_values=2, most_tenants=2), 2)
        self.keeper.restore(msgspec.json.decode(msgspec.json.encode(self.rows)))

    def read(self, log: list[Usage], until: int) -> None:
        for offset in range(self.position, min(until, len(log))):
            self.keeper.sheets.fold(DAY, log[offset].model, [log[offset]])
            self.keeper.sheets.reached = (0, offset)

    def flush(self, position: int, *, dies: bool = False) -> None:
        """The outputs are sent before the rows are stored."""
        telling = self.keeper.flush()
        self.told += msgspec.json.decode(msgspec.json.encode(telling.parts), type=list[Part])
        if dies:
            self.start()
            return
        for name, row in msgspec.json.decode(msgspec.json.encode(telling.rows)).items():
            if row is None:
                self.rows.pop(name, None)
            else:
                self.rows[name] = row
        self.position = position


@settings(max_examples=60)
@given(calls, st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=12))
def test_crashes_lose_and_repeat_nothing(log: list[Usage], course: list[tuple[int, bool]]) -> None:
    """Whoever dies between two flushes, what the next one tells in the end is exact, and merged in any order."""
    life = Life()
    for count, dies in course:
        until = min(life.position + count, len(log))
        life.read(log, until)
        life.flush(until, dies=dies)
    life.read(log, len(log))
    life.flush(len(log))
    life.start()
    life.flush(len(log))
    for told in (life.told, life.told[::-1]):
        tables = Rollups(most=3)
        for part in told:
            tables.merge(part)
        sheets = {rollup.tenant: rollup.sheet for rollup in tables.take_changed(0)}
        assert totals(sheets) == [expected(log)] * 4


@given(calls, st.integers(0, 30))
def test_two_partitions_add_up(log: list[Usage], cut: int) -> None:
    """What two source partitions counted of a tenant's day is one table, with bounded values and the same sums."""
    tables = Rollups(most=2)
    for partition, share in enumerate((log[:cut], log[cut:])):
        life = Life(partition)
        life.read(share, len(share))
        life.flush(len(share))
        for part in life.told:
            tables.merge(part)
    rollups = tables.take_changed(0)
    assert totals({rollup.tenant: rollup.sheet for rollup in rollups}) == [expected(log)] * 4
    assert all(len(values) <= 3 for rollup in rollups for values in rollup.sheet.dimensions)


def test_notes_speak_for_what_waits() -> None:
    """With more changes than a flush writes, rows and notes together are the state, and notes go in time."""
    log = [call(number, tenant=f"t{number % 700}", user=f"u{number % 97}") for number in range(12_000)]
    life = Life()
    life.start()
    life.keeper = SheetKeeper(0, TenantSheets(), 2)
    for at in range(0, len(log), 3_000):
        life.keeper.sheets.fold(DAY, "m", log[at : at + 3_000])
        life.flush(at + 3_000)
    assert any(name.startswith("note|") for name in life.rows)
    assert max(len(msgspec.json.encode(row)) for row in life.rows.values()) < 256 * 1024
    again = SheetKeeper(0, TenantSheets(), 2)
    again.restore(life.rows)
    assert totals(again.sheets.days[DAY]) == [expected(log)] * 4
    for _ in range(400):
        life.flush(len(log))
    assert not any(name.startswith("note|") for name in life.rows)


def test_rows_stay_small_with_the_worst_names() -> None:
    """A row stays under 256 KB though every name is as long as it may be, in letters that JSON writes in six."""
    sheets = TenantSheets()
    names = [f"{number:04}" + "\x01" * LONGEST for number in range(250)]
    sheets.fold(DAY, "m", [call(0, tenant="t", department=name, user=name, knowledge_base=name) for name in names])
    telling = SheetKeeper(0, sheets, 8).flush()
    assert max(len(msgspec.json.encode(row)) for row in telling.rows.values()) < 256 * 1024


def test_too_many_tenants_share_a_sheet() -> None:
    """Beyond the bound strangers are counted together; a tenant of the policy has its place, and so has no tenant."""
    sheets = TenantSheets(known=["acme"], most_tenants=2)
    strangers = [call(number, tenant=f"x{number}") for number in range(9)]
    sheets.fold(DAY, "m", [*strangers, call(10, tenant="acme"), call(11)])
    sheets.settle()
    assert sheets.crowded == {DAY}
    assert set(sheets.days[DAY]) == {"x0", "x1", CROWD, "acme", ""}
    assert sheets.days[DAY][CROWD].total()[1] == 7


def test_long_names_stay_apart() -> None:
    """What is cut off a name is told apart: two long names are two values, of bounded length."""
    one, other = shortened(HOSTILE[0]), shortened(HOSTILE[0] + "!")
    assert one != other
    assert max(len(one), len(other)) <= LONGEST


def test_a_value_never_moves_to_other() -> None:
    """Who came first keeps its place, also after a restart: else its absolute sums would fall."""
    sheets = folded([call(number, tenant="t", user=f"u{number}") for number in range(3)], most_values=2)
    part = msgspec.json.decode(msgspec.json.encode(sheets.days[DAY]["t"]), type=Sheet)
    again = TenantSheets(most_values=2)
    again.restore(DAY, "t", part)
    again.fold(DAY, "m", [call(9, tenant="t", user="u0", tokens=5), call(10, tenant="t", user="u9")])
    again.settle()
    assert {user: cell[0] for user, cell in again.days[DAY]["t"].users.items()} == {"u0": 15, "u1": 10}
    assert again.days[DAY]["t"].other[2][0] == 20


def test_merged_keeps_the_most_used() -> None:
    """Bounded again, a table keeps the values with the most tokens, and what is unassigned."""
    sheet = folded([call(number, tokens=number, tenant="t", user=f"u{number}") for number in range(1, 5)]).days[DAY][
        "t"
    ]
    table = merged([sheet, folded([call(9, tenant="t")]).days[DAY]["t"]], most=2)
    assert set(table.users) == {"u4", "u3", ""}
    assert table.total(2) == table.total(0)
