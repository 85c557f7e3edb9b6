"""A tiny delivery loop to drive the step with, and alerts to send."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from random import Random
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import pytest

from rules.alerts import Alert, Kind, Severity
from rules.policy import Alerting
from streams.alert_records import Resend
from streams.channels.build import build_senders
from streams.channels.outcome import Progress
from streams.channels.receiver import FEISHU, WEBHOOK, Receiver
from streams.channels.sender import Sender
from streams.channels.timing import Timing
from streams.channels.wire import Wire
from streams.delivery.step import Moment, Output
from streams.notify import Notify

AT = 1_786_591_320_000
SPEED = 400.0


class Kafka(NamedTuple):
    """A record as it comes from Kafka."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int


class Assignment(NamedTuple):
    """What delivery hands over with a partition."""

    rows: Mapping[str, Any]
    incarnation: int
    position: int
    touch: Callable[[], None]
    fail: Callable[[BaseException], None]


class Loop:
    """Delivery of one partition: flushes on demand and keeps rows as JSON, unless `failing`."""

    def __init__(self, notify: Notify, table: dict[str, str] | None = None) -> None:
        self.notify = notify
        self.table = {} if table is None else table
        self.offset = 0
        self.outputs: list[Output] = []
        self.failures: list[BaseException] = []
        self.failing = False  # the changelog takes nothing: as if killed before the acknowledgement
        self._touched = asyncio.Event()

    async def assign(self) -> Loop:
        rows = {key: json.loads(row) for key, row in self.table.items()}
        await self.notify.assigned(0, Assignment(rows, 1, self.offset, self._touched.set, self.failures.append))
        return self

    def offer(self, *alerts: Alert | Resend | bytes | None) -> None:
        """Alerts arrive from Kafka."""
        values = [msgspec.json.encode(alert) if isinstance(alert, Alert | Resend) else alert for alert in alerts]
        keys = [alert.key if isinstance(alert, Resend) else b"key" for alert in alerts]
        records = [
            Kafka(self.offset + n, key, value, AT) for n, (key, value) in enumerate(zip(keys, values, strict=True))
        ]
        self.offset += len(records)
        self.notify.handle(0, records)
        self._touched.set()

    def flush(self) -> dict[str, Any]:
        """One flush, acknowledged; the rows in it."""
        flush = self.notify.flush(0, Moment(self.offset, at_end=True, now=AT))
        rows = dict(flush.rows) if flush is not None else {}
        self.outputs += [] if flush is None else flush.outputs
        for key, row in rows.items():
            if self.failing:
                continue
            if row is None:
                self.table.pop(key, None)
            else:
                self.table[key] = json.dumps(row)
        return rows

    async def until(self, reached: Callable[[], bool]) -> None:
        """Flush whenever asked to, until `reached`."""
        async with asyncio.timeout(20):
            while not reached():
                await self._touched.wait()
                self._touched.clear()
                self.flush()

    def outcomes(self) -> dict[str, dict[str, str]]:
        """What the acknowledged rows say: alert id -> channel -> progress."""
        rows = [json.loads(row) for row in self.table.values()]
        return {row["alert"]["id"]: {name: o["progress"] for name, o in row["outcomes"].items()} for row in rows}

    def settled(self) -> bool:
        """Whether every alert known is done with in every channel, and that is acknowledged."""
        return all(p != "waiting" for channels in self.outcomes().values() for p in channels.values())


class Counts:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self.tally: dict[tuple[str, Progress], int] = {}

    def counted(self, channel: str, outcome: str) -> None:
        self.seen[channel, outcome] += 1

    def kept(self, tally: Mapping[tuple[str, Progress], int]) -> None:
        self.tally = {key: number for key, number in tally.items() if number}


@pytest.fixture
def counts() -> Counts:
    """What was counted."""
    return Counts()


@pytest.fixture
def make_alert() -> Callable[..., Alert]:
    """An alert with a given id about a scope."""

    def make(alert_id: str, scope: str = "model:a", **fields: Any) -> Alert:
        known: dict[str, Any] = {"kind": Kind.THRESHOLD, "severity": Severity.WARNING, "at": AT, "window": "2026-08-13"}
        known |= {"threshold": 0.8, "used": 80, "limit": 100}
        return Alert(id=alert_id, scope=scope, **(known | fields))

    return make


@pytest.fixture
def quick() -> Timing:
    """Real time for the network, hurried for every wait of ours."""

    def sleep(seconds: float) -> Awaitable[None]:
        return asyncio.sleep(seconds / SPEED)

    return Timing(monotonic=lambda: time.monotonic() * SPEED, sleep=sleep, random=Random(7).random)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A local receiver with nothing planned."""
    async with Receiver() as running:
        yield running


@pytest.fixture
async def senders(receiver, quick) -> AsyncIterator[dict[str, Sender]]:
    """Senders to both of its channels."""
    async with Wire(timeout=1.0) as wire:
        yield build_senders({kind: receiver.channel(kind) for kind in (FEISHU, WEBHOOK)}, wire, quick)


@pytest.fixture
async def start(senders, counts, quick) -> AsyncIterator[Callable[..., Awaitable[Loop]]]:
    """Starts a worker's step over a table; `kill` in between with `loop.notify.close()`."""
    started: list[Notify] = []

    async def run(
        table: dict[str, str] | None = None, send: tuple[str, ...] = (FEISHU, WEBHOOK), **options: Any
    ) -> Loop:
        notify = Notify(
            "blastdoor.alerts",
            options.pop("senders", senders),
            options.pop("alerting", None) or Alerting(send=send, group=0),
            zone=ZoneInfo("Asia/Shanghai"),
            timing=options.pop("timing", quick),
            observer=counts,
            **options,
        )
        started.append(notify)
        return await Loop(notify, table).assign()

    yield run
    for notify in started:
        await notify.close()
