"""A partition whose rows either side stored is taken up by either."""

from __future__ import annotations

import json

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from native.counter import Counter
from rules.facts import Tally
from rules.policy import Policy
from rules.rollup import Part
from streams.counting import MakeCounter, in_python
from streams.facts_topic import FactsTopic
from streams.meter import Meter
from streams.metrics import Metrics
from streams.topics import Topics
from tests.streams.partition import Partition

pytestmark = pytest.mark.native

NOON = 1_786_593_600_000
TOPICS = Topics("t")


def partition(counter: MakeCounter) -> Partition:
    def make() -> Meter:
        metrics = Metrics(CollectorRegistry())
        facts = FactsTopic(TOPICS.facts, 2)
        return Meter(TOPICS, facts, Policy(), metrics, event_clock=False, clock=lambda: NOON, counter=counter)

    return Partition(make)


def usage(number: int) -> bytes:
    event = {"type": "usage", "id": f"id-{number}", "ts": "2026-08-13T12:00:00+08:00", "model": "m"}
    return json.dumps(event | {"tenant": f"tenant-{number % 40}", "total_tokens": number}).encode()


def told(found: Partition) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Of each tenant, what judges and what roll-ups are told last."""
    tallies: dict[str, list[int]] = {}
    parts: dict[str, int] = {}
    for output in found.sent:
        if (output.key or b"").startswith(b"tally|"):
            tallies |= msgspec.json.decode(output.value or b"", type=Tally).tenants
        elif output.topic == TOPICS.sheets:
            part = msgspec.json.decode(output.value or b"", type=Part)
            parts[part.tenant] = part.sheet.total()[0]
    return tallies, parts


@pytest.mark.parametrize("after", [in_python, Counter])
@pytest.mark.parametrize("before", [in_python, Counter])
def test_sheets_of_an_earlier_life_are_told_and_kept(before: MakeCounter, after: MakeCounter) -> None:
    """All of them, also those without a call since: the rows they share are written again whole."""
    found = partition(before)
    for number in range(400):
        found.append(usage(number), NOON)
    found.handle(100)
    found.flush(NOON)
    found.make = partition(after).make
    for stop in (101, 300, 400):
        found.start()
        found.sent.clear()
        found.handle(stop - found.handled)
        found.flush(NOON)
        numbers = {f"tenant-{each}": list(range(each, stop, 40)) for each in range(40)}
        tallies, parts = told(found)
        assert {name: sums[:2] for name, sums in tallies.items()} == {
            name: [sum(of_tenant), len(of_tenant)] for name, of_tenant in numbers.items()
        }
        assert parts == {name: sum(of_tenant) for name, of_tenant in numbers.items()}
