"""Records as they come out of a fetch: unpacked late, none left out, none from before the position."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer import fetcher as theirs
from aiokafka.consumer.fetcher import Fetcher, FetchResult, PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given
from hypothesis import strategies as st

from streams.delivery.records import Packed, Prefetched, leave_packed, lots

TP = TopicPartition("t", 0)


def batch(begin: int, *offsets: int) -> bytes:
    """A record batch as it lies on a log, its first offset `begin`."""
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 20)
    for offset in offsets:
        builder.append(offset - begin, 1_786_593_600_000 + offset, b"k%d" % offset, b"v%d" % offset, [("h", b"x")])
    raw = bytearray(builder.build())
    raw[:8] = begin.to_bytes(8, "big")
    return bytes(raw)


def answer(log: bytes, position: int) -> PartitionRecords:
    return PartitionRecords(TP, MemoryRecords(log), [], position, None, None, True, theirs.READ_UNCOMMITTED)


def result(log: bytes, position: int) -> tuple[FetchResult, Any]:
    """A fetch result as a fetcher would keep it, and the state whose position moves with it."""
    state = SimpleNamespace(paused=False, position=position)
    state.consumed_to = lambda to: setattr(state, "position", to)
    assignment = SimpleNamespace(active=True, state_value=lambda _: state)
    found = FetchResult(TP, assignment=assignment, partition_records=answer(log, position), backoff=0)
    prefetched = Prefetched()
    prefetched[TP] = found
    return found, state


LOG = [batch(0, 0, 1, 2), batch(3, 3, 5), batch(7, 7, 8, 9)]  # 4 and 6 were compacted away


@given(st.integers(0, 10), st.integers(1, 12))
def test_the_same_records_as_from_aiokafka(position: int, size: int) -> None:
    """From any position, in lots of any size: offset, time, key, value and headers, and the position behind them."""
    log = b"".join(LOG)
    plain = answer(log, position)
    expected = [(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in plain]
    found, state = result(log, position)
    packed = found.getall()
    given_ = list(lots(packed, size))
    records = [record for lot in given_ for record in lot]
    assert [(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in records] == expected
    assert all(len(lot) == size for lot in given_[:-1])
    assert state.position == plain.next_fetch_offset


def test_a_damaged_batch_is_an_error() -> None:
    """Its checksum tells before anything of it is handled."""
    damaged = bytearray(b"".join(LOG))
    damaged[-1] ^= 1
    found, _ = result(bytes(damaged), 0)
    with pytest.raises(CorruptRecordException):
        found.getall()


def test_errors_pass_unchanged() -> None:
    """What a fetcher keeps beside records is left as it is."""
    prefetched = Prefetched()
    prefetched[TP] = error = object()
    assert prefetched[TP] is error


def test_a_consumer_is_changed_once() -> None:
    """What it has at hand already stays at hand."""
    consumer = SimpleNamespace(_fetcher=SimpleNamespace(_records=OrderedDict({TP: "error"})))
    leave_packed(consumer)
    first = consumer._fetcher._records
    leave_packed(consumer)
    assert consumer._fetcher._records is first
    assert first == {TP: "error"}


def test_nothing_packed_is_nothing() -> None:
    """No lot is empty."""
    assert list(lots([], 5)) == []
    assert list(lots([Packed([SimpleNamespace(offset=1)], 2)], 5)) == []


def test_what_is_leaned_on_is_there() -> None:
    """aiokafka keeps results in this dict, takes them by iteration, and moves the position to this attribute."""
    assert "_records" in inspect.getsource(Fetcher.__init__)
    for name in ("_partition_records", "next_fetch_offset"):
        assert name in inspect.getsource(FetchResult)
    assert "for msg in self._partition_records" in inspect.getsource(FetchResult.getall)
    assert "self._records[tp] = FetchResult(" in inspect.getsource(Fetcher._proc_fetch_request)
    for name in ("_records", "_check_crcs", "_tp", "_records_iterator", "next_fetch_offset"):
        assert hasattr(answer(LOG[0], 0), name)
