"""Today's usage as gauges: sums are exact, names are harmless and few, and nothing stays that is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest
from prometheus_client import Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rules.cells import Sheet, shortened
from rules.moment import DAY as A_DAY
from rules.policy import Policy
from rules.policy_check import check
from rules.rollup import Part
from rules.shares import PLACES
from rules.tenant_sheets import CROWD
from streams.active import Active
from streams.delivery.step import Moment, Record, Restored
from streams.metrics import OTHER, Metrics
from streams.policy_file import default_rulebook
from streams.rollups import RollupStep
from streams.topics import Topics
from streams.usage_gauges import UNASSIGNED
from tests.streams.partition import Stored

NOON = 1_786_593_600_000
TODAY, TOMORROW = "2026-08-13", "2026-08-14"
EMOJI = '=HYPERLINK("http://x","😀"),\n' + "😀" * 10_000
HOSTILE = [EMOJI, 'a",b="\\', "one\ntwo", "\u202egnp.exe", "\r\x00", "(other)", "", CROWD]


def sheet(values: dict[str, int]) -> Sheet:
    """Values of every dimension, as the meter shortens them."""
    cells = {shortened(name): [amount, 1, amount, 0, 0, 0, 0] for name, amount in values.items()}
    whole = {"m": [sum(values.values()), len(values), sum(values.values()), 0, 0, 0, 0]}
    return Sheet(whole, cells, dict(cells), dict(cells), [[0] * 7] * 4)


async def nothing(partition: int) -> AsyncIterator[Sequence[Record]]:
    """No table is kept."""
    for _ in range(partition, partition):
        yield []


class Worker:
    """The roll-ups of some partitions, without Kafka."""

    def __init__(self, partitions: int = 1, policy: Policy | None = None, **options: Any) -> None:
        self.metrics = Metrics()
        self.step = RollupStep(Topics("t"), policy or Policy(), self.metrics, nothing, **options)
        log: Any = None
        given = Restored({}, 0, 0, lost=False, log=log, touch=list, fail=print)
        for partition in range(partitions):
            asyncio.run(self.step.assigned(partition, given))
        self.offset = 0

    def use(self, tenant: str, values: dict[str, int], *, day: str = TODAY, partition: int = 0) -> None:
        """What the tenant used on a day, in all."""
        self.offset += 1
        part = Part(tenant, day, 0, 0, self.offset, sheet(values))
        self.step.handle(partition, [Stored(self.offset, msgspec.json.encode(part), 0)])
        self.step.flush(partition, Moment(self.offset, True, NOON))

    def seen(self, gauge: Gauge, now: int = NOON) -> dict[tuple[str, ...], float]:
        """What somebody who asks for the metrics finds."""
        self.step.show(now)
        return {tuple(sample.labels.values()): sample.value for family in gauge.collect() for sample in family.samples}


def test_what_is_shown_adds_up_to_what_was_used() -> None:
    """Tenants and departments beyond those with a place are `(other)`, of their tenant and of all; the largest have
    names, and each gauge's sum is the whole."""
    worker = Worker(partitions=2)
    for number in range(PLACES + 5):
        values = {f"d{place}": 100 * number + place for place in range(PLACES + 3)}
        worker.use(f"t{number}", values, partition=number % 2)
    whole = sum(100 * number + place for number in range(PLACES + 5) for place in range(PLACES + 3))
    tenants = worker.seen(worker.metrics.usage_tenant)
    assert len(tenants) == PLACES + 1
    assert sum(tenants.values()) == whole
    assert tenants[(OTHER,)] == sum(100 * number + place for number in range(5) for place in range(PLACES + 3))
    for gauge in (worker.metrics.usage_department, worker.metrics.usage_knowledge_base):
        found = worker.seen(gauge)
        assert len(found) == PLACES * (PLACES + 1) + 1
        assert sum(found.values()) == whole
        assert found["t24", OTHER] == 2_400 * 3 + 0 + 1 + 2
        assert found["t24", "d22"] == 2_422


def test_a_hostile_name_is_a_label_like_any_other() -> None:
    """Emoji without end, quotes, line ends, formulas, and names that mean something here: each series is one line, no
    label is long, and the sums are exact."""
    worker = Worker(users=True)
    for number, name in enumerate(HOSTILE, start=1):
        worker.use(name, dict.fromkeys(HOSTILE, number))
    worker.step.show(NOON)
    page = generate_latest(worker.metrics.registry).decode()
    whole = len(HOSTILE) * sum(range(1, len(HOSTILE) + 1))
    families = {family.name: family for family in text_string_to_metric_families(page)}
    for dimension in ("tenant", "department", "knowledge_base", "user"):
        samples = families[f"blastdoor_usage_{dimension}_tokens"].samples
        assert sum(sample.value for sample in samples) == whole
        labels = {sample.labels[dimension] for sample in samples}
        assert {OTHER, UNASSIGNED} < labels
        assert all(0 < len(label) <= 64 and label.splitlines() == [label] for label in labels)
        assert len(labels) == len(HOSTILE) - 1  # `(other)` stands for two


@pytest.mark.parametrize("users", [False, True])
def test_users_are_shown_only_if_asked_for(users: bool) -> None:
    """Without the setting no name of a user is in what Prometheus reads."""
    worker = Worker(users=users)
    worker.use("acme", {"u1": 5})
    assert worker.seen(worker.metrics.usage_user) == ({("acme", "u1"): 5} if users else {})


def test_what_is_over_is_gone() -> None:
    """Who leaves the largest, the day before, and what another worker owns now."""
    worker = Worker(partitions=2)
    worker.use("small", {"x": 1})
    for number in range(PLACES):
        worker.use(f"t{number}", {"x": 2}, partition=1)
    tenants = worker.metrics.usage_tenant
    assert ("small",) not in worker.seen(tenants)
    assert worker.seen(tenants)[OTHER,] == 1
    worker.step.revoked(1)
    assert worker.seen(tenants) == {("small",): 1}
    worker.use("small", {"x": 3}, day=TOMORROW)
    assert worker.seen(tenants) == {("small",): 1}
    assert worker.seen(tenants, NOON + A_DAY) == {("small",): 3}
    assert worker.seen(tenants, NOON + 2 * A_DAY) == {}


def test_a_recording_shows_its_own_last_day() -> None:
    """Whatever day it is on the wall."""
    worker = Worker(event_clock=True)
    for day, tokens in ((TODAY, 1), (TOMORROW, 2)):
        worker.use("acme", {"x": tokens}, day=day)
    assert worker.seen(worker.metrics.usage_tenant, NOON + 90 * A_DAY) == {("acme",): 2}


def test_money_is_that_of_the_price_list() -> None:
    """Absent while the price of a model is not known; a policy that names one is heard at once."""
    worker = Worker()
    worker.use("acme", {"x": 500_000})
    assert worker.seen(worker.metrics.usage_money) == {}
    priced = check({"prices": {"m": {"input": 4, "output": 8}}})
    assert isinstance(priced, Policy)
    worker.step.adopt(Active(policy=priced, rulebook=default_rulebook(priced), senders={}))
    assert worker.seen(worker.metrics.usage_money) == {("acme",): 2}
