"""Which partitions are kept in memory over a rebalance, which are taken from the table, and which are refused."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from faust.types import TP

from streams.delivery.book import Book
from streams.delivery.delivery import Delivery
from streams.delivery.errors import DeliveryError, MalformedRowError
from streams.delivery.lease import Lease, Surroundings, Term
from streams.delivery.resume import Resume
from streams.delivery.rows import new_owner, recover
from streams.delivery.step import Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Table:
    """Rows as they were restored."""

    changelog_topic_name = "g-step-changelog"

    def __init__(self) -> None:
        self.rows: dict[int, dict[bytes, bytes]] = {}

    def restore(self, partition: int, records: Iterable[Any]) -> None:
        self.rows.setdefault(partition, {}).update({record.key: record.value for record in records})

    def take(self, partition: int) -> Mapping[bytes, bytes]:
        return self.rows.pop(partition, {})


class Step:
    """Remembers what it was told."""

    name, topic, interval, lot = "step", "source", 0.0, 500

    def __init__(self) -> None:
        self.gone: list[int] = []

    async def assigned(self, partition: int, restored: object) -> None: ...
    def handle(self, partition: int, records: object) -> None: ...
    def flush(self, partition: int, moment: object) -> None: ...
    def revoked(self, partition: int) -> None:
        self.gone.append(partition)


class Rebalances(Observer):
    """What was kept and taken."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def rebalanced(self, kept: int, taken: int) -> None:
        self.seen.append((kept, taken))


@pytest.fixture
def delivery() -> Delivery:
    delivery = Delivery("127.0.0.1:1", Rebalances())
    delivery.add(Step(), Table())
    return delivery


def both(*partitions: int) -> set[TP]:
    """Partitions of the source with those of its changelog."""
    return {TP(topic, partition) for partition in partitions for topic in ("source", "g-step-changelog")}


def hold(delivery: Delivery, partition: int, generation: int, flushed: int = 50) -> None:
    """A partition in hand, with 50 records handled."""
    around = Surroundings(delivery.sender, delivery.observer, lambda *_: (None, False), delivery.fail)
    step = delivery.steps["source"]
    lease = Lease(step, partition, "g-step-changelog", Book(new_owner(1, 0), recover({})), around)
    lease.resume(Resume(50, 0), "", Term("me", generation))
    lease.flushed, lease.stored_at = flushed, 700
    delivery.leases[TP("source", partition)] = lease


def test_the_next_generation_goes_on_from_memory(delivery: Delivery) -> None:
    """What nobody else can have had in between needs no table; Faust is told how far its rows are known."""
    hold(delivery, 0, generation=4)
    hold(delivery, 1, generation=4)
    restored: dict[TP, int] = {}
    delivery.expect(both(0, 2), Term("me", 5), restored)
    assert list(delivery.leases) == [TP("source", 0)]
    assert restored == {TP("g-step-changelog", 0): 700}
    assert delivery.steps["source"].gone == [1]
    assert delivery.observer.seen == [(1, 1)]
    assert delivery.leases[TP("source", 0)].term == ("me", 5)


@pytest.mark.parametrize("generation", [4, 6, 0], ids=["the same", "one was missed", "another group"])
def test_any_other_generation_starts_from_the_table(delivery: Delivery, generation: int) -> None:
    """In a generation that was missed the partition may have been somebody else's: memory is worth nothing."""
    hold(delivery, 0, generation=4)
    restored = {TP("g-step-changelog", 0): 700}
    delivery.expect(both(0), Term("me", generation), restored)
    assert delivery.leases == {}
    assert restored == {}
    assert delivery.steps["source"].gone == [0]


def test_under_another_name_nothing_is_kept(delivery: Delivery) -> None:
    """Whoever was expelled comes back as somebody else, whatever the broker calls the generation."""
    hold(delivery, 0, generation=4)
    delivery.expect(both(0), Term("me again", 5), {})
    assert delivery.leases == {}


def test_what_is_not_safe_is_not_kept(delivery: Delivery) -> None:
    """A partition whose last flush failed starts from the table."""
    hold(delivery, 0, generation=4, flushed=49)
    delivery.expect(both(0), Term("me", 5), {})
    assert delivery.leases == {}


def test_a_partition_without_its_rows_is_refused(delivery: Delivery) -> None:
    """Were it taken, it would be counted from nothing."""
    with pytest.raises(DeliveryError, match="assigned without g-step-changelog/1"):
        delivery.expect(both(0) | {TP("source", 1)}, Term("me", 1), {})


def test_no_partition_at_all_is_nothing_to_wait_for(delivery: Delivery) -> None:
    """There may be more workers than partitions."""
    delivery.expect(both(0), Term("me", 1), {})
    assert delivery.waiting_since is not None
    delivery.expect(set(), Term("me", 2), {})
    assert delivery.waiting_since is None


def test_only_what_is_to_be_taken_over_is_restored(delivery: Delivery) -> None:
    """Rows of a partition that is kept would be held for nothing."""
    hold(delivery, 0, generation=4)
    delivery.expect(both(0, 1), Term("me", 5), {})
    for partition in (0, 1):
        delivery.restore(TP("g-step-changelog", partition), [SimpleNamespace(key=b"k", value=b"v")])
    assert delivery.tables["source"].rows == {1: {b"k": b"v"}}


async def test_a_takeover_that_is_cancelled_ends(delivery: Delivery) -> None:
    """It must not go on beside the next one."""
    delivery._take_up = asyncio.Event().wait
    taking = asyncio.create_task(delivery.take_up())
    await asyncio.sleep(0)
    taking.cancel()
    await asyncio.wait([taking])
    await asyncio.wait([delivery._taking], timeout=1)
    assert delivery._taking.cancelled()


async def test_malformed_rows_name_their_place(delivery: Delivery) -> None:
    """An operator is told where to look."""
    delivery.expect(both(3), Term("me", 1), {})
    delivery.tables["source"].rows[3] = {b"@ffffffffffffffff": b"1"}
    with pytest.raises(MalformedRowError, match=r"g-step-changelog/3: the position row '@f{16}' cannot be read"):
        await delivery.take_up()


async def test_nothing_assigned_is_taken_up_at_once(delivery: Delivery) -> None:
    """No look at any log is needed."""
    delivery.expect(set(), Term("me", 1), {})
    assert await delivery.take_up()


def test_the_first_reason_counts(delivery: Delivery, caplog: pytest.LogCaptureFixture) -> None:
    """One line, with the place and the reason; what breaks afterwards is its consequence."""
    delivery.fail(DeliveryError("the first"), "step/0")
    delivery.fail(ValueError("the second"))
    assert delivery.failure == "step/0: the first"
    assert delivery.failed.is_set()
    assert [record.getMessage() for record in caplog.records] == ["stopping: step/0: the first"]


def test_a_topic_has_one_step(delivery: Delivery) -> None:
    """Positions are kept per topic and partition."""
    with pytest.raises(ValueError, match="topic source already has the step step"):
        delivery.add(Step(), Table())
