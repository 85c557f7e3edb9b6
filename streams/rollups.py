"""The roll-ups: what source partitions counted of a tenant's day becomes one table, kept on its own topic for 400
days."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from rules.facts import Heard
from rules.moment import DAY, SECOND, Millis
from rules.policy import Policy
from rules.prices import Prices
from rules.records import Control, Reason, Rejected
from rules.rollup import Forgetting, Part, Rollup, Rollups, forgetting
from rules.shares import Shares
from rules.stored_rows import reading
from streams.active import Active
from streams.dead_letters import DeadLetters
from streams.delivery.step import Flush, Moment, Output, Record, Restored
from streams.metrics import Metrics
from streams.topics import USAGE_KEPT_DAYS, Topics
from streams.usage_gauges import UsageGauges

Reread = Callable[[int], AsyncIterator[Sequence[Record]]]
"""All records of one partition of the roll-ups."""

CLOSED_ROW = "closed"
MOST_AT_ONCE = 30  # tables; at a third of a millisecond each they hold up nobody
# A round of more tables is only so often: parts of one table come from all source partitions, one after another.
ROUND_MS: Millis = 10 * SECOND

_decode = msgspec.json.Decoder(Part | Heard).decode
_rollup = msgspec.json.Decoder(Rollup).decode


class RollupStep:
    """Delivery step over `sheets`. Rows: the parts of open days, and names to be forgotten.

    A table holds at most so many values a dimension, the rest in `other`; the sums of every dimension are the same.
    """

    name = "rollups"
    interval = 0.25
    lot = 30  # sheets of some hundred values take 0.2 ms each

    def __init__(
        self,
        topics: Topics,
        policy: Policy,
        metrics: Metrics,
        reread: Reread,
        *,
        users: bool = False,
        event_clock: bool = False,
    ) -> None:
        """`users`: whether their names may stand in metrics."""
        self.topic = topics.sheets
        self._rollups = topics.rollups
        self._policy = policy
        self._calendar = policy.calendar()
        self._dead_letters = DeadLetters(topics.dead_letters, topics.sheets, metrics)
        self._reread = reread
        self._event_clock = event_clock
        self._prices = Prices(policy)
        self._gauges = UsageGauges(metrics, users=users)
        self._desks: dict[int, Desk] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        """Take up open days, and finish what an earlier owner was to forget."""
        desk = self._desks[partition] = Desk(restored)
        desk.tables.closed_before = restored.rows.get(CLOSED_ROW, "")
        for name, row in restored.rows.items():
            if name.startswith("forget|"):
                with reading(name):
                    desk.tables.forget(msgspec.convert(row, Forgetting))
        for name, row in restored.rows.items():
            if name.startswith("part|"):
                with reading(name):
                    desk.tables.merge(msgspec.convert(row, Part))
        for wish in desk.tables.forgettings.values():
            if not wish.done:
                self._begin(partition, desk, wish)

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        """Merge a batch. What cannot be read becomes a dead letter and stops nothing."""
        desk = self._desks[partition]
        for record in records:
            try:
                found = _decode(record.value or b"")
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                rejected = Rejected(Reason.NOT_JSON, f"no sheet: {error}"[:200])
                desk.refused.append(self._dead_letters.keep(partition, record, rejected))
                continue
            if isinstance(found, Part):
                if desk.tables.merge(found):
                    desk.rows[found.key] = found
            else:
                self._hear(partition, desk, found)

    def flush(self, partition: int, moment: Moment) -> Flush | None:
        """The tables that changed until the last whole flush, some at a time: each costs as much as hundreds of events.

        Those that are left when a worker ends are made again from the parts that its rows hold.
        """
        desk = self._desks[partition]
        if moment.whole:
            desk.begin_round(moment.now)
        outputs = []
        for rollup in desk.tables.take_due(moment.now, MOST_AT_ONCE):
            desk.shares.note(rollup)
            outputs.append(self._output(partition, rollup))
        if desk.tables.is_due:
            desk.touch()
        if not moment.whole:
            return Flush(outputs) if outputs else None
        outputs += [self._output(partition, rollup) for rollup in desk.take_rewritten()]
        outputs += desk.refused
        desk.refused = []
        self._close(desk, moment)
        rows, desk.rows = desk.rows, {}
        return Flush(outputs, rows) if outputs or rows else None

    def revoked(self, partition: int) -> None:
        """Somebody else's from now on; a rewriting under way begins again there."""
        desk = self._desks.pop(partition, None)
        for task in desk.tasks if desk is not None else ():
            task.cancel()

    def adopt(self, active: Active) -> None:
        """Days are closed as this policy says."""
        self._policy = active.policy
        self._prices = Prices(active.policy)

    def show(self, now: Millis) -> None:
        """Bring the gauges of today's usage up to date. Recordings bring their own days: of them the last is shown."""
        today = None if self._event_clock else self._calendar.day(now)
        self._gauges.show((desk.shares for desk in self._desks.values()), today, self._prices)

    def _hear(self, partition: int, desk: Desk, heard: Heard) -> None:
        wish = forgetting(heard.record, self._calendar) if isinstance(heard.record, Control) else None
        if wish is not None and desk.tables.forget(wish):
            desk.rows[wish.key] = msgspec.to_builtins(wish)
            self._begin(partition, desk, wish)

    def _begin(self, partition: int, desk: Desk, wish: Forgetting) -> None:
        task = asyncio.get_running_loop().create_task(self._rewrite(partition, desk, wish))
        desk.tasks.add(task)
        task.add_done_callback(desk.end)

    async def _rewrite(self, partition: int, desk: Desk, wish: Forgetting) -> None:
        """Write every kept table anew that shows the user's name. Costs one reading of the partition."""
        found: dict[bytes, Rollup] = {}
        async for records in self._reread(partition):
            for record in records:
                key = record.key or b""
                found.pop(key, None)
                if not record.value or key.partition(b"|")[2] != wish.tenant.encode():
                    continue
                kept = _rollup(record.value)
                if wish.user in kept.sheet.users and kept.day <= wish.day:
                    found[key] = desk.tables.pseudonymised(kept)
        done = desk.tables.forgettings[wish.id] = msgspec.structs.replace(wish, done=True)
        desk.rewritten += found.values()
        desk.rows[wish.key] = msgspec.to_builtins(done)
        desk.touch()

    def _output(self, partition: int, rollup: Rollup) -> Output:
        return Output(self._rollups, partition, rollup.key.encode(), msgspec.json.encode(rollup))

    def _close(self, desk: Desk, moment: Moment) -> None:
        """Let go of days of which no usage can come any more: what a partition has not read for longer is gone."""
        newest = desk.tables.newest()
        if not newest:
            return
        known = min(moment.now, self._calendar.end(newest))
        oldest = self._calendar.day(known - (USAGE_KEPT_DAYS + self._policy.close_after_days + 2) * DAY)
        if gone := desk.tables.drop_before(oldest):
            desk.rows |= dict.fromkeys(gone)
            desk.rows[CLOSED_ROW] = desk.tables.closed_before


class Desk:
    """One partition's tables with what its next flush will tell."""

    def __init__(self, restored: Restored) -> None:
        self.tables = Rollups()
        self.shares = Shares()
        self.rows: dict[str, Any] = {}
        self.rewritten: list[Rollup] = []
        self.refused: list[Output] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.touch = restored.touch
        self._began: Millis = 0  # the last round
        self._fail = restored.fail

    def begin_round(self, now: Millis) -> None:
        """Have what changed be told, if that is little or some time ago."""
        if self.tables.changed_count <= MOST_AT_ONCE or not 0 <= now - self._began < ROUND_MS:
            self.tables.begin_round()
            self._began = now

    def take_rewritten(self) -> list[Rollup]:
        """Old tables under new names; those of open days are made of their parts."""
        taken, self.rewritten = self.rewritten, []
        return [rollup for rollup in taken if not self.tables.holds(rollup)]

    def end(self, task: asyncio.Task[None]) -> None:
        """A rewriting that fails ends the process: it is done again after the start."""
        self.tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)
