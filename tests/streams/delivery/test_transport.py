"""Which batches reach a step, and which belong to a past that has been given up."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from streams.delivery import transport
from streams.delivery.delivery import Delivery
from streams.delivery.errors import LogChangedError
from streams.delivery.records import Packed
from streams.delivery.step import Observer
from streams.delivery.transport import BatchConsumer, Fetched
from streams.delivery.turns import Breath

SOURCE, CHANGELOG = TP("source", 0), TP("changelog", 0)


class Lease:
    """What a partition in hand takes."""

    partition = 0

    def __init__(self, position: int, *, started: bool = True, lot: int = 500) -> None:
        self.step = SimpleNamespace(topic="source", name="step", lot=lot)
        self.position = position
        self.started = started
        self.batches: list[list[int]] = []

    async def room(self) -> None: ...

    def handle(self, records: list[Any]) -> None:
        self.batches.append([record.offset for record in records])
        self.position = records[-1].offset + 1

    def advance(self, position: int) -> None:
        self.position = max(self.position, position)


def consumer(lease: Lease | None, *, begin: int = 0) -> BatchConsumer:
    """A consumer in generation 3 whose thread has sought twice."""
    made = object.__new__(BatchConsumer)
    recovery = SimpleNamespace()
    made.app = SimpleNamespace(
        consumer_generation_id=3, tables=SimpleNamespace(recovery=recovery, changelog_topics={"changelog"})
    )
    made.flow_active = True
    made.seeks, made._restoring, made._joining = 2, False, False
    made._breath = Breath()
    made._committed_offset = defaultdict(lambda: None)
    made.delivery = Delivery("127.0.0.1:1", Observer())
    made.delivery.leases = {} if lease is None else {SOURCE: lease}

    async def earliest_offsets(*_: Any) -> dict[TP, int]:
        return {SOURCE: begin}

    made.earliest_offsets = earliest_offsets
    return made


def fetched(
    *offsets: int, tp: TP = SOURCE, generation: int = 3, seeks: int = 2, position: int | None = None
) -> Fetched:
    records = [SimpleNamespace(offset=offset, key=b"k", value=b"v") for offset in offsets]
    batch = Fetched({tp: [Packed(records, offsets[0])]} if offsets else {})
    batch.generation, batch.seeks = generation, seeks
    batch.positions = {tp: offsets[-1] + 1 if position is None else position}
    return batch


async def test_a_batch_is_handled_in_lots() -> None:
    """The event loop has its turn after so many records; nothing is left out or repeated."""
    lease = Lease(0, lot=3)
    await consumer(lease)._deliver(fetched(*range(8)))
    assert lease.batches == [[0, 1, 2], [3, 4, 5], [6, 7]]


@pytest.mark.parametrize(
    "past",
    [
        pytest.param({"generation": 2}, id="of a former generation"),
        pytest.param({"seeks": 1}, id="from before the last seek"),
    ],
)
async def test_what_is_of_the_past_is_not_handled(past: dict[str, int]) -> None:
    """It will be fetched again from where the partition goes on."""
    lease = Lease(0)
    await consumer(lease)._deliver(fetched(0, 1, **past))
    assert lease.batches == []
    assert lease.position == 0


async def test_nothing_is_handled_while_the_flow_is_stopped() -> None:
    """A rebalance has begun: what was handled is being made safe."""
    lease = Lease(0)
    stopped = consumer(lease)
    stopped.flow_active = False
    await stopped._deliver(fetched(0, 1))
    assert lease.batches == []


async def test_the_rest_of_a_batch_is_left_when_a_rebalance_begins() -> None:
    """Between two lots everything may change."""
    lease = Lease(0, lot=2)
    running = consumer(lease)

    async def begin_rebalance() -> None:
        running.flow_active = not lease.batches

    lease.room = begin_rebalance
    await running._deliver(fetched(0, 1, 2, 3))
    assert (lease.batches, lease.position) == ([[0, 1]], 2)


async def test_a_partition_that_is_not_taken_up_waits() -> None:
    """Faust lets records flow a moment before the step has its rows."""
    lease = Lease(0, started=False)
    await consumer(lease)._deliver(fetched(0, 1))
    await consumer(None)._deliver(fetched(0, 1))
    assert lease.batches == []


async def test_a_compacted_topic_has_gaps() -> None:
    """Offsets that are missing are no loss while the log still begins before them."""
    lease = Lease(5)
    await consumer(lease, begin=5)._deliver(fetched(9, 12, position=20))
    assert lease.batches == [[9, 12]]
    assert lease.position == 20  # nor is what is missing at the end work still to do


async def test_records_deleted_unread_end_the_process() -> None:
    """At the next start they are reported, and the step is told."""
    with pytest.raises(LogChangedError, match="source/0: records from offset 5 to 9 were deleted unread"):
        await consumer(Lease(5), begin=9)._deliver(fetched(9))


async def test_offsets_that_go_back_end_the_process() -> None:
    """The client library starts over by itself where a log was replaced; for sums that is another log."""
    with pytest.raises(LogChangedError, match="source/0 was replaced: offset 0 came after 4"):
        await consumer(Lease(5))._deliver(fetched(0))


async def test_an_error_in_a_step_is_named_and_stops_everything() -> None:
    """The rest of the batch is not handled."""
    lease = Lease(0)
    lease.handle = lambda _: 1 / 0
    failing = consumer(lease)
    await failing._deliver(fetched(0))
    assert "division by zero" in str(failing.delivery.failure)


async def test_rows_go_to_their_table() -> None:
    """Records of a changelog are restored, whoever holds the partition's source."""
    restored: list[tuple[TP, int]] = []
    restoring = consumer(None)
    restoring.delivery.restore = lambda tp, records: restored.append((tp, len(list(records))))
    await restoring._deliver(fetched(0, 1, 2, tp=CHANGELOG))
    assert restored == [(CHANGELOG, 3)]


async def test_rows_are_never_passed_over() -> None:
    """What was fetched since Faust sought is restored even while the flow is stopped: nobody seeks back for it."""
    restored: list[int] = []
    restoring = consumer(None)
    restoring.delivery.restore = lambda _, records: restored.append(len(list(records)))
    restoring.flow_active = False
    await restoring._deliver(fetched(0, 1, tp=CHANGELOG, generation=2))
    await restoring._deliver(fetched(0, 1, 2, tp=CHANGELOG, seeks=1))
    assert restored == [2]


@pytest.mark.parametrize(("position", "done"), [(40, False), (41, True), (50, True)])
async def test_recovery_ends_where_the_log_does(position: int, done: bool) -> None:
    """By the position in the log, not by the last record: the last ones may have been compacted away."""
    restoring = consumer(None)
    restoring.delivery.restore = lambda *_: None
    ended: list[bool] = []
    offsets = {CHANGELOG: None}
    restoring.app.tables.recovery = SimpleNamespace(
        active_tps={CHANGELOG},
        active_offsets=offsets,
        need_recovery=lambda: offsets[CHANGELOG] < 40,
        signal_recovery_end=SimpleNamespace(set=lambda: ended.append(True)),
    )
    restoring._restoring = True
    await restoring._deliver(fetched(3, tp=CHANGELOG, position=position))
    assert offsets == {CHANGELOG: position - 1}
    assert bool(ended) is done


async def test_nothing_is_committed_while_joining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the commit at revocation and the next assignment no timer commits: it would make the group join anew."""
    lease: Any = Lease(0)
    lease.flushed, told = 7, []
    made = consumer(lease)

    async def commit(*_: Any) -> bool:
        told.append(made._filter_committable_offsets([SOURCE]))
        return True

    async def nothing(*_: Any) -> None: ...

    monkeypatch.setattr(made.delivery, "put_down", nothing)
    monkeypatch.setattr(made, "stop_flow", lambda: None, raising=False)
    monkeypatch.setattr(made, "commit", commit)
    monkeypatch.setattr(transport.driver.Consumer, "on_partitions_revoked", nothing)
    await made.on_partitions_revoked({SOURCE})
    await commit()
    assert told == [{SOURCE: 7}, {}]
