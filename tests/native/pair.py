"""One log in the hands of two meters: the one counts in Python, the other natively, or in Python for a life or two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from native.counter import Counter
from rules.duplicates import DuplicateWindow
from rules.policy import Budget, Gateway, Policy
from rules.rulebook import Rulebook
from rules.sheet_keeping import NOTE
from rules.tenant_sheets import Entry, TenantSheets
from streams.active import Active
from streams.facts_topic import FactsTopic
from streams.meter import Meter
from streams.metrics import Metrics
from streams.topics import Topics
from tests.streams.partition import Partition

NOON = 1_786_593_600_000
TOPICS = Topics("t")
WINDOW, MOST_VALUES, MOST_TENANTS = 8, 2, 3
COUNTED = ("counted", "duplicate", "rejected", "unusable")

POLICIES = (
    Policy(),
    Policy(aliases={"m": "canonical", '模"型': "canonical"}, gateways={"guard": Gateway(name="guard", guard=True)}),
    Policy(aliases={"n": "m" * 80}, tenants={"known": Budget(), "late": Budget()}, close_after_days=1),
    Policy(
        gateways={name: Gateway(name=name, guard=True) for name in ("litellm", "guard")}, aliases={"canonical": "m"}
    ),
)


class InPython:
    """What stands in for a counter with the same small bounds, and reads nothing."""

    def __init__(self) -> None:
        self.window = DuplicateWindow(WINDOW)
        self.sheets = TenantSheets(most_values=MOST_VALUES, most_tenants=MOST_TENANTS)

    def read(self, *_: Any) -> None:
        """Nothing is plain."""


def natively() -> Counter:
    return Counter(WINDOW, MOST_VALUES, MOST_TENANTS)


class Life:
    """A partition, how it is counted in its next life, and what was seen of it."""

    def __init__(self, counter: Callable[[], Any], *, event_clock: bool = False) -> None:
        self.now = NOON
        self.counter = counter
        self.policy = POLICIES[0]
        self.registry = CollectorRegistry()
        self._event_clock = event_clock
        self.partition = Partition(self._make)

    def _make(self) -> Meter:
        self.registry = CollectorRegistry()
        return Meter(
            TOPICS,
            FactsTopic(TOPICS.facts, 2),
            self.policy,
            Metrics(self.registry),
            event_clock=self._event_clock,
            clock=lambda: self.now,
            counter=self.counter,
        )

    def adopt(self, policy: Policy) -> None:
        self.policy = policy
        step: Any = self.partition.step
        step.adopt(Active(policy=policy, rulebook=Rulebook(()), senders={}))

    def seen(self) -> Any:
        """Everything that leaves the meter, what it keeps, and what became of events; then nothing is sent."""
        sent, self.partition.sent = self.partition.sent, []
        step: Any = self.partition.step
        meter = step._partitions[0].meter
        counts = [self.registry.get_sample_value("blastdoor_events_total", {"outcome": each}) for each in COUNTED]
        differing = self.registry.get_sample_value("blastdoor_differing_duplicates_total")
        rows = {name: plain_row(name, row) for name, row in self.partition.rows.items()}
        return (
            sent,
            rows,
            meter.counts,
            meter.clock,
            meter.tenants.reached,
            sorted(meter.tenants.crowded),
            counts,
            differing,
        )


def plain_row(name: str, row: Any) -> Any:
    """A row, with its names in their order. Of a journal, None and nothing mean the same, and entries may be cut."""
    if not name.startswith(NOTE):
        return msgspec.json.encode(row)
    return list(_calls(msgspec.convert(row, list[Entry])))


def _calls(entries: Sequence[Entry]) -> Iterator[Any]:
    for day, model, guards, lines in entries:
        for line in lines:
            amounts = [number or 0 for number in line[4:9]]
            yield day, model, line[9] in guards, [name or "" for name in line[:4]], amounts, line[9] or ""
