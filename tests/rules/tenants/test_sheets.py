"""Usage by tenant: exact in every dimension, whatever strangers call themselves and however the log is cut."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import sheet_keeping, tenant_sheets
from rules.cells import LONGEST, Sheet, merged, shortened
from rules.facts import Tally
from rules.records import Usage
from rules.rollup import Forgetting, Part, Rollups
from rules.sheet_keeping import NOBODYS, SheetKeeper
from rules.tenant_sheets import CROWD, TenantSheets
from tests.rules.tenants.calls import DAY, HOSTILE, call, calls, expected, rolled_up, totals


def folded(found: list[Usage], **bounds: Any) -> TenantSheets:
    sheets = TenantSheets(guards=["gate"], **bounds)
    for each in found:
        sheets.fold(DAY, each.model, [each])
    return sheets


def shown(sheets: TenantSheets) -> dict[str, Sheet]:
    """The day's sheets as they would be told."""
    return {tenant: found.sheet() for tenant, found in sheets.days.get(DAY, {}).items()}


@given(calls, st.integers(1, 3), st.integers(1, 3))
def test_every_dimension_adds_up(found: list[Usage], most_values: int, most_tenants: int) -> None:
    """Values + other = total, the same for all four dimensions, with any bounds."""
    sheets = folded(found, most_values=most_values, most_tenants=most_tenants)
    assert totals(shown(sheets)) == [expected(found)] * 4
    guarded = sum(each.total_tokens for each in found if each.source == "gate" and not each.cache_hit)
    assert sum(sheet.guarded for sheet in shown(sheets).values()) == guarded


@given(calls, st.integers(1, 7))
def test_batches_change_nothing(found: list[Usage], size: int) -> None:
    """Cut into batches and settled in between, the sums of values are those of one batch."""
    one, many = folded(found), TenantSheets(guards=["gate"])
    for at in range(0, len(found), size):
        for each in found[at : at + size]:
            many.fold(DAY, each.model, [each])
        many.settle()
    assert shown(many) == shown(one)


class Life:
    """A partition's keeper that may die at any flush; only what was stored survives."""

    def __init__(self, partition: int = 0) -> None:
        self.partition = partition
        self.rows: dict[str, Any] = {}
        self.position = 0
        self.told: list[Part] = []
        self.tallies: list[Tally] = []
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
        self.tallies += msgspec.json.decode(msgspec.json.encode(telling.tallies), type=list[Tally])
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


@settings(max_examples=100)
@given(calls, st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=12), st.sampled_from([0, 5, 500]))
def test_crashes_lose_and_repeat_nothing(log: list[Usage], course: list[tuple[int, bool]], least: int) -> None:
    """Whoever dies between two flushes, what the next one tells in the end is exact, and merged in any order.

    With few cells a flush, most of it waits, and a new owner counts again what the notes say.
    """
    life = Life()
    with patch.object(sheet_keeping, "LEAST_CELLS", least):
        for count, dies in course:
            until = min(life.position + count, len(log))
            life.read(log, until)
            life.flush(until, dies=dies)
        life.read(log, len(log))
        life.flush(len(log))
        life.start()
        assert totals(shown(life.keeper.sheets)) == [expected(log)] * 4
    life.tallies += life.keeper.tell_all()
    life.flush(len(log))
    for told in (life.told, life.told[::-1]):
        tables = Rollups(most=3)
        for part in told:
            tables.merge(part)
        sheets = {rollup.tenant: rollup.sheet for rollup in rolled_up(tables)}
        assert totals(sheets) == [expected(log)] * 4
    newest = {tally.key: tally for tally in sorted(life.tallies, key=lambda tally: tally.offset)}
    told_of = {name: sums for tally in newest.values() for name, sums in tally.tenants.items()}
    assert told_of == {
        name: [cell[0], cell[1], cell[4], cell[5], sheet.guarded, cell[6]]
        for name, sheet in shown(life.keeper.sheets).items()
        if name not in NOBODYS
        for cell in [sheet.total()]
    }


def test_a_note_brings_no_closed_day_back() -> None:
    """What waits when its day is closed goes with it: counted again from a note, its sums would be too small."""
    life = Life()
    with patch.object(sheet_keeping, "LEAST_CELLS", 0):
        life.keeper.sheets.fold(DAY, "m", [call(number, tenant=f"t{number % 2}") for number in range(8)])
        life.flush(8)
        life.keeper.sheets.fold("2026-08-20", "m", [call(8, tenant="t0"), call(9, tenant="t1")])
        life.flush(10)
        assert any(name.startswith("note|") for name in life.rows)
        life.rows |= msgspec.json.decode(msgspec.json.encode(life.keeper.drop_before("2026-08-15")))
        life.rows = {name: row for name, row in life.rows.items() if row is not None}
        life.start()
    assert set(life.keeper.sheets.days) == {"2026-08-20"}


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
    rollups = rolled_up(tables)
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
    assert totals(shown(again.sheets)) == [expected(log)] * 4
    for _ in range(400):
        life.flush(len(log))
    assert not any(name.startswith("note|") for name in life.rows)


def test_rows_stay_small_with_the_worst_names() -> None:
    """A row stays under 256 KB though every name is as long as it may be, in letters that JSON writes in six."""
    sheets = TenantSheets()
    keeper = SheetKeeper(0, sheets, 8)
    names = [f"{number:04}" + "\x01" * LONGEST for number in range(250)]
    sheets.fold(DAY, "m", [call(0, tenant="t", department=name, user=name, knowledge_base=name) for name in names])
    sheets.fold(DAY, "m", [call(0, tenant=name * 200, department=name * 200, user=name) for name in names])
    with patch.object(sheet_keeping, "LEAST_CELLS", 0):
        rows = keeper.flush().rows
    assert {name.partition("|")[0] for name in rows} == {"reached", "sheets", "note"}
    assert max(len(msgspec.json.encode(row)) for row in rows.values()) < 256 * 1024


def test_what_is_pending_stays_bounded_where_nobody_flushes() -> None:
    """A replay reads any number of calls of ever new users, and holds no more of them than a sheet does."""
    sheets, log = TenantSheets(), [call(number, tenant="t", user=f"u{number}") for number in range(3_000)]
    with patch.object(tenant_sheets, "MOST_UNSETTLED", 1_000):
        for at in range(0, len(log), 100):
            sheets.fold(DAY, "m", log[at : at + 100])
    assert len(sheets.days[DAY]["t"].pending) <= 1_100
    assert totals(shown(sheets)) == [expected(log)] * 4


def test_too_many_tenants_share_a_sheet() -> None:
    """Beyond the bound strangers are counted together; a tenant of the policy has its place, and so has no tenant."""
    sheets = TenantSheets(known=["acme"], most_tenants=2)
    strangers = [call(number, tenant=f"x{number}") for number in range(9)]
    sheets.fold(DAY, "m", [*strangers, call(10, tenant="acme"), call(11)])
    assert sheets.crowded == {DAY}
    assert set(sheets.days[DAY]) == {"x0", "x1", CROWD, "acme", ""}
    assert shown(sheets)[CROWD].total()[1] == 7


def test_long_names_stay_apart() -> None:
    """What is cut off a name is told apart: two long names are two values, of bounded length."""
    one, other = shortened(HOSTILE[0]), shortened(HOSTILE[0] + "!")
    assert one != other
    assert max(len(one), len(other)) <= LONGEST


def test_a_value_never_moves_to_other() -> None:
    """Who came first keeps its place, also after a restart: else its absolute sums would fall."""
    sheets = folded([call(number, tenant="t", user=f"u{number}") for number in range(3)], most_values=2)
    part = msgspec.json.decode(msgspec.json.encode(shown(sheets)["t"]), type=Sheet)
    again = TenantSheets(most_values=2)
    again.restore(DAY, "t", part)
    again.fold(DAY, "m", [call(9, tenant="t", user="u0", tokens=5), call(10, tenant="t", user="u9")])
    assert {user: cell[0] for user, cell in shown(again)["t"].users.items()} == {"u0": 15, "u1": 10}
    assert shown(again)["t"].other[2][0] == 20


def test_merged_keeps_the_most_used() -> None:
    """Bounded again, a table keeps the values with the most tokens, and what is unassigned."""
    sheets = folded([call(number, tokens=number, tenant="t", user=f"u{number}") for number in range(1, 5)])
    table = merged([shown(each)["t"] for each in (sheets, folded([call(9, tenant="t")]))], most=2)
    assert set(table.users) == {"u4", "u3", ""}
    assert table.total(2) == table.total(0)


def test_a_name_stays_forgotten_while_a_table_waits() -> None:
    """A day may be over before all its tables are told: until then what is to be forgotten in them is known."""
    tables = Rollups()
    cell = [5, 1, 0, 0, 0, 0, 0]
    sheet = Sheet({"m": cell}, {"": cell}, {"li": cell}, {"": cell}, [[0] * 7] * 4)
    for tenant in ("acme", "zeta"):
        tables.forget(
            Forgetting(id=tenant, tenant=tenant, user="li", pseudonym="forgotten", day="2026-08-13", done=True)
        )
        tables.merge(Part(tenant, "2026-08-13", 0, 1, 1, sheet))
    tables.begin_round()
    tables.take_due(0, 1)
    first = tables.drop_before("2026-08-14")
    (late,) = tables.take_due(0, 1)
    assert (late.tenant, list(late.sheet.users)) == ("zeta", ["forgotten"])
    gone = first + tables.drop_before("2026-08-14")
    assert {key for key in gone if key.startswith("forget|")} == {"forget|acme", "forget|zeta"}
    assert tables.forgettings == {}
