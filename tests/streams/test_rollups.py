"""The roll-ups' step: whatever dies, the tables are those of all parts; a forgotten name is nowhere in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rules.cells import Sheet
from rules.facts import Heard
from rules.moment import DAY as A_DAY
from rules.policy import Policy
from rules.records import Control, ControlAction
from rules.rollup import Part, Rollup
from streams.delivery.step import Moment, Output, Record, Restored
from streams.metrics import Metrics
from streams.rollups import MOST_AT_ONCE, RollupStep
from streams.topics import Topics
from tests.streams.partition import Stored

NOON = 1_786_593_600_000
DAY = "2026-08-13"
TOPICS = Topics("t")


def part(
    tokens: int, *, offset: int = 1, partition: int = 0, day: str = DAY, tenant: str = "acme", **users: int
) -> bytes:
    named = {user: [amount, 1, 0, 0, 0, 0, 0] for user, amount in users.items()}
    whole = [tokens, 1, 0, 0, 0, 0, 0]
    sheet = Sheet({"m": whole}, {"": whole}, named or {"": whole}, {"": whole}, [[0] * 7] * 4)
    return msgspec.json.encode(Part(tenant, day, partition, 0, offset, sheet))


def forget(user: str, number: int = 1) -> bytes:
    order = Control(
        id=f"f{number}", at=NOON, by="lin", why="asked", action=ControlAction.FORGET, scope=f"user:acme/{user}"
    )
    return msgspec.json.encode(Heard(f"user:acme/{user}", order, f"controls/0/{number}"))


@dataclass
class Tables:
    """A step without Kafka: its rows, and the topic of roll-ups as compaction leaves it."""

    rows: dict[str, Any] = field(default_factory=dict)
    kept: dict[bytes, bytes] = field(default_factory=dict)
    touched: int = 0

    async def start(self) -> None:
        self.step = RollupStep(TOPICS, Policy(), Metrics(), self.reread)
        rows = msgspec.json.decode(msgspec.json.encode(self.rows))
        log: Any = None
        await self.step.assigned(0, Restored(rows, 0, 0, lost=False, log=log, touch=self.touch, fail=self.fail))

    def touch(self) -> None:
        self.touched += 1

    def fail(self, error: BaseException) -> None:
        raise error

    async def reread(self, partition: int) -> AsyncIterator[Sequence[Record]]:
        assert partition == 0
        yield [Stored(0, value, 0, key) for key, value in self.kept.items()]

    def hear(self, *values: bytes) -> None:
        self.step.handle(0, [Stored(number, value, 0) for number, value in enumerate(values)])

    def flush(self, now: int = NOON, *, dies: bool = False, whole: bool = True) -> list[Output]:
        """The outputs are sent before the rows are stored."""
        flush = self.step.flush(0, Moment(0, True, now, whole))
        for output in flush.outputs if flush else ():
            self.kept[output.key] = output.value or b""
        for name, row in () if flush is None or dies else flush.rows.items():
            self.rows.pop(name, None) if row is None else self.rows.update({name: row})
        return list(flush.outputs) if flush else []

    def table(self, day: str = DAY) -> Rollup:
        return msgspec.json.decode(self.kept[f"{day}|acme".encode()], type=Rollup)

    async def rewritten(self) -> None:
        """Wait for what is being rewritten."""
        while tasks := [task for desk in self.step._desks.values() for task in desk.tasks]:
            await asyncio.wait(tasks)


async def test_parts_make_one_table_through_a_crash() -> None:
    """Two partitions' parts add up; older and repeated ones change nothing, and no crash does."""
    tables = Tables()
    await tables.start()
    tables.hear(part(5, offset=1), part(7, offset=1, partition=1))
    tables.flush(dies=True)
    await tables.start()
    tables.hear(part(5, offset=1), part(9, offset=3), part(5, offset=1), part(7, offset=1, partition=1))
    tables.flush()
    assert tables.table().sheet.total()[0] == 16
    assert tables.flush() == []
    await tables.start()
    tables.hear(part(10, offset=4))
    tables.flush()
    assert tables.table().sheet.total()[0] == 17


async def test_many_tables_are_told_a_few_at_a_time() -> None:
    """What a whole flush finds changed is told by it and the next ones, each table once; a crash between tells all."""
    tables = Tables()
    await tables.start()
    tables.hear(*(part(5, tenant=f"t{number:03}") for number in range(2 * MOST_AT_ONCE + 1)))
    first, asked = tables.flush(), tables.touched
    tables.hear(part(6, offset=2, tenant="t000"))  # with the next round
    assert (len(first), asked) == (MOST_AT_ONCE, 1)
    rest = tables.flush(whole=False) + tables.flush(whole=False)
    assert tables.touched == 2
    assert sorted(output.key for output in first + rest) == sorted(tables.kept)
    assert tables.flush(whole=False) == []
    assert [output.key for output in tables.flush()] == [f"{DAY}|t000".encode()]
    await tables.start()
    again = tables.flush() + tables.flush(whole=False) + tables.flush(whole=False)
    assert {output.key for output in again} == set(tables.kept)


async def test_a_foreign_record_stops_nothing() -> None:
    """What cannot be read is a dead letter."""
    tables = Tables()
    await tables.start()
    tables.hear(b"{}", b"\xff", part(5))
    topics = [output.topic for output in tables.flush()]
    assert sorted(topics) == [TOPICS.dead_letters, TOPICS.dead_letters, TOPICS.rollups]
    assert tables.table().sheet.total()[0] == 5


async def test_a_forgotten_user_is_gone_from_every_table() -> None:
    """Also from days closed long ago, and from parts that come again; no sum changes."""
    tables = Tables()
    await tables.start()
    old = "2026-05-01"
    tables.hear(part(9, day=old, u1=4, u2=5))
    tables.flush()
    tables.hear(part(3, u1=3))
    tables.flush()
    tables.flush(NOON + 30 * A_DAY)
    assert not any(old in row for row in tables.rows)
    tables.hear(forget("u1"))
    await tables.rewritten()
    tables.flush(dies=True)
    await tables.start()
    tables.hear(forget("u1"), part(6, offset=2, u1=6))
    await tables.rewritten()
    tables.flush()
    found = {day: {user: cell[0] for user, cell in tables.table(day).sheet.users.items()} for day in (old, DAY)}
    (pseudonym,) = set(found[old]) - {"u2"}
    assert pseudonym.startswith("forgotten-")
    assert found == {old: {pseudonym: 4, "u2": 5}, DAY: {pseudonym: 6}}
    assert tables.table(old).sheet.total()[0] == 9
    await tables.start()
    await tables.rewritten()
    assert not any(old.encode() in output.key for output in tables.flush())


async def test_days_that_are_over_leave_the_rows() -> None:
    """Parts of days that no usage can reach go; a part of such a day that comes again makes no smaller table."""
    tables = Tables()
    await tables.start()
    tables.hear(part(5, day="2026-07-01"), part(7, partition=1, day="2026-07-01"), part(1))
    tables.flush()
    tables.flush()
    assert not any("2026-07-01" in row for row in tables.rows)
    await tables.start()
    tables.hear(part(5, day="2026-07-01"))
    tables.flush()
    assert tables.table("2026-07-01").sheet.total()[0] == 12
