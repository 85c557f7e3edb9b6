"""Fetched records as aiokafka's C code makes them, unpacked only when they are handled.

aiokafka unpacks a whole answer in the fetching thread and wraps each record into an object of Python's, which takes
twice as long as all else it does for a record. What lies inside already has what a step asks for (`step.Record`), and
a lot of records that is unpacked, handled and dropped before the next one stays in the processor's caches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.errors import CorruptRecordException


class Packed(NamedTuple):
    """A record batch as it was fetched. What lies before `begin` was not asked for."""

    batch: Any
    begin: int

    def records(self) -> list[Any]:
        """Its records, in order."""
        found = list(self.batch)
        if found and found[0].offset < self.begin:
            return [record for record in found if record.offset >= self.begin]
        return found


def lots(packed: Iterable[Packed], size: int) -> Iterator[list[Any]]:
    """The records of several batches in lots of `size`, the last one smaller."""
    gathered: list[Any] = []
    for batch in packed:
        gathered += batch.records()
        while len(gathered) >= size:
            yield gathered[:size]
            del gathered[:size]
    if gathered:
        yield gathered


def leave_packed(consumer: AIOKafkaConsumer) -> None:
    """Have a started consumer's `getmany` give `Packed` batches in place of records.

    Only for one that neither counts records (`max_poll_records`) nor waits for transactions.
    """
    fetcher = consumer._fetcher
    if not isinstance(fetcher._records, Prefetched):
        fetcher._records = Prefetched(fetcher._records)


class Prefetched(OrderedDict[TopicPartition, Any]):
    """What a fetcher has at hand, by partition: results and errors. Takes the place of its own dict."""

    def __setitem__(self, tp: TopicPartition, result: Any) -> None:
        if type(result) is FetchResult:
            result._partition_records = PackedAnswer(result._partition_records)
        super().__setitem__(tp, result)


class PackedAnswer:
    """The batches of one partition in an answer, to be iterated once and to the end."""

    def __init__(self, answer: PartitionRecords) -> None:
        self._answer = answer
        self.next_fetch_offset: int = answer.next_fetch_offset
        answer._records_iterator = None  # else the answer would hold itself until the garbage collector comes

    def __iter__(self) -> Iterator[Packed]:
        """Raises CorruptRecordException."""
        records = self._answer._records
        while records.has_next():
            batch = records.next_batch()
            if self._answer._check_crcs and not batch.validate_crc():
                raise CorruptRecordException(f"Invalid CRC - {self._answer._tp}")
            begin, self.next_fetch_offset = self.next_fetch_offset, batch.next_offset
            if not batch.is_control_batch:
                yield Packed(batch, begin)
