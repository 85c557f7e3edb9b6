"""Looking at logs from the side, on the embedded broker and its own idea of where a log ends."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.delivery.log import PartitionLog, ends, inspect
from streams.delivery.resume import fingerprint, resume
from streams.delivery.rows import Place

pytestmark = pytest.mark.embedded

EMPTY, ONE, MANY = (TopicPartition("looked-at", partition) for partition in range(3))


@pytest.fixture
async def kafka(broker: str) -> str:
    """A topic with 0, 1 and 1,000 records in its partitions; the many in batches of 300."""
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    await admin.delete_topics(["looked-at"])
    await admin.create_topics([NewTopic("looked-at", 3, 1)])
    await admin.close()
    producer = AIOKafkaProducer(bootstrap_servers=broker)
    await producer.start()
    await producer.send_and_wait("looked-at", b"only", partition=1)
    for start in range(0, 1_000, 300):
        batch = producer.create_batch()
        for number in range(start, min(start + 300, 1_000)):
            batch.append(key=None, value=b"%d" % number, timestamp=number)
        await (await producer.send_batch(batch, "looked-at", partition=2))
    await producer.stop()
    return broker


async def test_ends(kafka: str) -> None:
    """The end is behind the last record, not behind the first of the last batch."""
    assert await ends(kafka, [EMPTY, ONE, MANY]) == {EMPTY: 0, ONE: 1, MANY: 1_000}
    assert await ends(kafka, []) == {}


@pytest.mark.parametrize("position", [1, 300, 301, 999, 1_000])
async def test_what_stands_before_a_position(kafka: str, position: int) -> None:
    """Anywhere in a batch."""
    found = (await inspect(kafka, {MANY: position}))[MANY]
    assert (found.begin, found.end) == (0, 1_000)
    assert (found.before.offset, found.before.value) == (position - 1, b"%d" % (position - 1))


async def test_all_partitions_at_once(kafka: str) -> None:
    """Each has its own answer: nothing to look at, a record, a log that ends too early."""
    found = await inspect(kafka, {EMPTY: 0, ONE: 1, MANY: 5_000})
    assert (found[EMPTY].begin, found[EMPTY].before) == (0, None)
    assert found[ONE].before.value == b"only"
    place = Place(flush=1, incarnation=4, position=5_000)
    assert resume(place, found[MANY]) == (0, 5, False, True)


async def test_an_empty_log_is_seen_as_replaced(kafka: str) -> None:
    """A place in a log that has no records any more."""
    found = await inspect(kafka, {EMPTY: 3})
    assert resume(Place(flush=1, incarnation=0, position=3), found[EMPTY]).replaced


async def test_the_same_record_is_recognised(kafka: str) -> None:
    """A fingerprint taken from a consumed record is that of the record read again."""
    first = (await inspect(kafka, {MANY: 700}))[MANY].before
    place = Place(flush=1, incarnation=0, position=700, record=fingerprint(first))
    assert resume(place, (await inspect(kafka, {MANY: 700}))[MANY]) == (700, 0, False, False)


@pytest.mark.parametrize(
    ("position", "count", "expected"),
    [
        (1_000, 50, range(950, 1_000)),
        (950, 700, range(250, 950)),
        (950, 5_000, range(950)),
        (1_000, 0, range(0)),
        (0, 50, range(0)),
    ],
)
async def test_reading_back(kafka: str, position: int, count: int, expected: range) -> None:
    """Exactly the records asked for, in order, however they were batched."""
    log = PartitionLog(kafka, MANY)
    assert [record.offset async for batch in log.before(position, count) for record in batch] == list(expected)
