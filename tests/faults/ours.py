"""The same as stock.py with our delivery: a worker run as a process by test_pitfalls.py.

Usage: ours.py KAFKA GROUP LIFE. In its first life one changelog is out of reach, in its second one mistake is made.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from blastdoor_gateway.contract import Action, Decision, Keys

from rules.calendar import Calendar
from streams.delivery.app import build_app, deliver
from streams.delivery.run import configure_logging, run
from streams.delivery.step import Flush, Moment, Observer, Record, Restored
from streams.publish.client import open_redis
from streams.publish.publisher import Publisher
from streams.wall_clock import wall_clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from streams.delivery.book import Entry

KAFKA, GROUP, LIFE = sys.argv[1], sys.argv[2], int(sys.argv[3])
PITFALLS = [f"p{number}" for number in range(1, 10)]

publisher = Publisher(
    open_redis("redis://127.0.0.1:1/0"),  # nobody is there
    Keys("pitfalls", ""),
    clock=wall_clock,
    calendar=Calendar(),
    worker="w",
    version="0",
    on_refused=lambda _, __: None,
    on_foreign_write=lambda _, __: None,
)


def say(*words: object) -> None:
    print(*words, flush=True)


class Telling(Observer):
    """Says what steps do not hear of."""

    def rebalanced(self, kept: int, taken: int) -> None:
        say("rebalanced", kept, taken)


class Counting:
    """Counts the records of its topic; not idempotent on purpose."""

    interval = 0.0
    lot = 500

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic = f"{GROUP}-{name}"
        self.rows: dict[int, Counter[str]] = {}
        self.stored: dict[int, dict[str, int]] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        self.rows[partition] = Counter(restored.rows)
        self.stored[partition] = dict(restored.rows)

    def handle(self, partition: int, records: Sequence[Record]) -> None:
        for record in records:
            value = (record.value or b"").decode()
            if value == "end":
                say("state", self.name, sum(rows.total() for rows in self.rows.values()))
                continue
            if (self.name, value, LIFE) == ("p1", "10", 2):
                raise TypeError("a mistake in the step")
            self._count(self.rows[partition])
            say("handled", self.name)

    def _count(self, rows: Counter[str]) -> None:
        rows["n"] += 1
        if self.name == "p8":
            told = {"rule": "r", "reason": "", "day": "2026-08-13", "decided_at": "", "version": (1, rows["n"])}
            publisher.offer(Decision(scope="model:m", action=Action.ALLOW, **told))

    def flush(self, partition: int, moment: Moment) -> Flush | None:  # noqa: ARG002
        rows = dict(self.rows[partition])
        if rows == self.stored[partition]:
            return None
        self.stored[partition] = rows
        return Flush(rows=rows)

    def revoked(self, partition: int) -> None:
        self.rows.pop(partition, None)


class Rewriting(Counting):
    """Sets a row, deletes it, and sets it to nothing, in three flushes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.waiting: list[dict[str, int | None]] = []
        self.touch: dict[int, Callable[[], None]] = {}

    async def assigned(self, partition: int, restored: Restored) -> None:
        await super().assigned(partition, restored)
        self.touch[partition] = restored.touch

    def handle(self, partition: int, records: Sequence[Record]) -> None:  # noqa: ARG002
        for record in records:
            value = (record.value or b"").decode()
            if value == "end":
                say("state", self.name, sum(len(rows) for rows in self.rows.values()))
            else:
                self.waiting += [{value: 1}, {value: None}, {value: 0}]

    def flush(self, partition: int, moment: Moment) -> Flush | None:  # noqa: ARG002
        if not self.waiting or partition != 0:
            return None
        rows = self.waiting.pop(0)
        say(*(["handled", self.name] if 0 in rows.values() else ["rewriting"]))
        self.touch[partition]()
        return Flush(rows=rows)


@asynccontextmanager
async def beside() -> AsyncIterator[None]:
    publishing = asyncio.create_task(publisher.run())
    if LIFE == 1:
        hold_back(f"{GROUP}-p5-changelog")
    say("started")
    yield
    publishing.cancel()


def hold_back(changelog: str) -> None:
    """What is sent there never gets through."""
    append = app.delivery.sender.append

    async def held(topic: str, partition: int, entries: Sequence[Entry]) -> int:
        if topic == changelog:
            await asyncio.Event().wait()
        return await append(topic, partition, entries)

    app.delivery.sender.append = held  # type: ignore[method-assign]


configure_logging()
app = build_app(
    GROUP,
    kafka=KAFKA,
    partitions=2,
    session_timeout=2.0,
    fetch_max_wait_ms=10,
    commit_interval=3600,
    observer=Telling(),
)
for pitfall in PITFALLS:
    deliver(app, Rewriting(pitfall) if pitfall == "p9" else Counting(pitfall))
sys.exit(run(app, beside()))
