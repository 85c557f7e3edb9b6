"""What steps find stored: what an older version wrote is understood or refused, and a refusal says where to look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from faust.types import TP

from rules.policy import Policy
from streams.channels.timing import Timing
from streams.day_shelf import DayShelf
from streams.delivery.delivery import Delivery
from streams.delivery.errors import MalformedRowError
from streams.delivery.resume import Found
from streams.delivery.rows import Place, encode_row, place_key, row_key
from streams.delivery.step import Observer
from streams.metrics import Metrics
from streams.notify import Notify
from streams.observers import NotifyMetrics
from streams.pipeline import Parts, steps
from streams.policy_file import default_rulebook
from streams.topics import Topics
from streams.watchman import Watchman
from tests.faults.memory import START, _nothing, _publisher

if TYPE_CHECKING:
    from collections.abc import Mapping

OWNER = "000000000001" + "0000"
TOPICS = Topics("t")


class Table:
    """A changelog that one flush of an earlier owner stands on."""

    def __init__(self, step: str, rows: Mapping[str, Any], schema: int) -> None:
        self.changelog_topic_name = f"t.worker-{step}-changelog"
        place = Place(flush=1, incarnation=0, position=0, schema=schema)
        self._rows = {row_key(name, OWNER, 0): encode_row(1, value) for name, value in rows.items()}
        self._rows[place_key(OWNER)] = place.encode()

    def take(self, _: int) -> Mapping[bytes, bytes]:
        return self._rows


def parts() -> Parts:
    policy, metrics = Policy(), Metrics()
    calendar, timing = policy.calendar(), Timing()
    nowhere: Any = SimpleNamespace()
    notify = Notify(
        TOPICS.alerts,
        {},
        policy.alerts,
        zone=calendar.zone,
        timing=timing,
        observer=NotifyMetrics(metrics, {}),
        watchman=Watchman(nowhere, policy.alerts, calendar, timing),
        shelf=DayShelf(policy.alerts.digest, calendar, lambda: START),
    )
    return Parts(
        topics=TOPICS,
        partitions=1,
        policy=policy,
        rulebook=default_rulebook(policy),
        metrics=metrics,
        publisher=_publisher(policy),
        notify=notify,
        reread=_nothing,
        event_clock=False,
    )


async def take_over(name: str, rows: Mapping[str, Any], schema: int = 1) -> None:
    """Give partition 0 of a step to a worker that finds these rows."""
    (step,) = [each for each in steps(parts()) if each.name == name]
    delivery = Delivery("127.0.0.1:1", Observer())
    delivery.add(step, Table(name, rows, schema))  # type: ignore[arg-type]
    tp = TP(step.topic, 0)
    await delivery._assign(tp, delivery._recover(tp), Found(0, 0, None))
    step.revoked(0)


@pytest.mark.parametrize(
    ("step", "row"),
    [
        ("meter", "clock"),
        ("meter", "model:m|0|2026-08-13"),
        ("meter", "reached"),
        ("meter", "sheets|2026-08-13|7"),
        ("meter", "note|1|0"),
        ("route-balances", "clock"),
        ("judge", "book|model:m"),
        ("judge", "book|tenant:t"),
        ("judge", "book|user:t/u"),
        ("judge", "book|global"),
        ("judge", "model:m|0|2026-08-13"),
        ("judge", "waiting|0000000000000001"),
        ("judge", "epoch"),
        ("judge", "engine"),
        ("rollups", "part|0|2026-08-13|t"),
        ("rollups", "forget|f1"),
        ("notify", "watch"),
        ("notify", "day|2026-08-13|model:m"),
    ],
)
async def test_a_row_of_an_unknown_shape_is_refused(step: str, row: str) -> None:
    """Topic, partition, key and version are named, and nothing is counted from it."""
    with pytest.raises(MalformedRowError) as refused:
        await take_over(step, {row: [{"what": "a later version wrote"}]})
    told = str(refused.value)
    assert told.startswith(f"t.worker-{step}-changelog/0: the row {row!r} cannot be understood (")
    assert told.endswith("though of schema 1: run the version that wrote it")


@pytest.mark.parametrize(("schema", "age"), [(0, "older or unknown"), (2, "newer")])
async def test_rows_of_another_schema_are_refused(schema: int, age: str) -> None:
    """Older ones as well, until there is a way to turn them into today's: topic, partition, key and version are
    named."""
    with pytest.raises(MalformedRowError) as refused:
        await take_over("meter", {"clock": {}}, schema)
    told = f"rows of '@{OWNER}' have the {age} schema {schema}, this program knows 1: run the version that wrote them"
    assert str(refused.value) == f"t.worker-meter-changelog/0: {told}"


async def test_rows_with_fewer_or_more_fields_are_understood() -> None:
    """Within a schema fields are added: those an older version did not know have defaults, those a newer one added are
    passed over."""
    partial = {
        "type": "partial", "scope": "model:m", "partition": 0, "day": "2026-08-13", "incarnation": 0, "offset": 3,
        "sums": [100, 1], "added": 0,
    }  # fmt: skip
    await take_over(
        "judge", {"book|model:m": {"carried": 5, "from_the_future": [1]}, "model:m|0|2026-08-13": partial, "epoch": 7}
    )
