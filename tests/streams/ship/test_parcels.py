"""Where each record goes, and under which key."""

from zoneinfo import ZoneInfo

import pytest
from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from rules.dead_letter import DeadLetter
from rules.intake.reader import Intake
from rules.intake.wire import encode
from rules.records import (
    Calibration,
    Clock,
    Control,
    ControlAction,
    Reading,
    Reason,
    Record,
    Refusal,
    Rejected,
    Usage,
)
from streams.ship.lines import LINE_LIMIT, Block, Line
from streams.ship.outbox import partition_of
from streams.ship.parcels import Addresser, LineReader
from streams.ship.sources import Form
from streams.topics import Topics

AT = 1_786_590_480_123
LINE = Line(7, b"body", 4)
ADDRESSER = Addresser(Topics("t"))
INTAKE = Intake(ZoneInfo("UTC"))

ROUTES: list[tuple[Record, str, str, bytes]] = [
    (Usage(id="u", at=AT, model="m", total_tokens=5), "usage", "t.usage", b"u"),
    (Refusal(id="r", at=AT, model="m", usage=1, reserve=2, limit=3), "refusals", "t.usage", b"r"),
    (Reading(id="b", at=AT, model="模型", available=5), "readings", "t.balances", "模型".encode()),
    (Calibration(id="c", at=AT, model="m", day="2026-08-13", pool=7), "calibrations", "t.balances", b"m"),
    (
        Control(id="k", at=AT, by="op", why="w", action=ControlAction.KILL, scope="global"),
        "controls",
        "t.controls",
        b"global",
    ),
]


@pytest.mark.parametrize(("record", "kind", "topic", "key"), ROUTES, ids=[route[1] for route in ROUTES])
def test_every_record_has_a_topic_and_a_key(record: Record, kind: str, topic: str, key: bytes) -> None:
    """Usage by event id, balances by model, controls by scope; the value is our own JSON."""
    parcel = ADDRESSER.parcel(record, LINE, "a.log:7", AT)
    assert (parcel.kind, parcel.topic, parcel.key, parcel.value) == (kind, topic, key, encode(record))
    assert parcel.partition is None


@pytest.mark.parametrize(("record", "kind"), [(route[0], route[1]) for route in ROUTES])
def test_readings_and_controls_carry_their_origin(record: Record, kind: str) -> None:
    """A decision leads back to the line of the file; usage is too much for that."""
    assert ADDRESSER.parcel(record, LINE, "a.log:7", AT).origin == ("" if kind in {"usage", "refusals"} else "a.log:7")


def test_what_is_rejected_becomes_a_dead_letter() -> None:
    """Keyed by its origin, with reason and body."""
    parcel = ADDRESSER.parcel(Rejected(Reason.NOT_JSON, "no"), LINE, "a.jsonl:7", AT)
    assert (parcel.topic, parcel.key) == ("t.dead-letters", b"a.jsonl:7")
    assert DeadLetter.decode(parcel.value) == DeadLetter(
        reason=Reason.NOT_JSON, detail="no", size=4, body=b"body", origin="a.jsonl:7", at=AT
    )


def test_a_clock_in_a_file_moves_nothing() -> None:
    """Only the shipper itself moves the clock of event mode."""
    parcel = ADDRESSER.parcel(Clock(at=AT), LINE, "a.jsonl:7", AT)
    assert DeadLetter.decode(parcel.value).reason == Reason.WRONG_TOPIC


def test_the_clock_goes_to_every_partition_of_what_is_read() -> None:
    """Usage, balances and controls."""
    parcels = ADDRESSER.clock(AT, 3)
    topics = ["t.usage", "t.balances", "t.controls"]
    assert [(parcel.topic, parcel.partition) for parcel in parcels] == [(t, p) for t in topics for p in range(3)]
    assert {parcel.value for parcel in parcels} == {encode(Clock(at=AT))}


def test_a_line_too_long_is_rejected_unread() -> None:
    """In a log as well: nobody can tell whose it was."""
    line = Line(1, b"{", LINE_LIMIT + 1)
    for form in Form:
        found = LineReader(INTAKE, form).read(line)
        assert isinstance(found, Rejected)
        assert (found.reason, "262,145 bytes" in found.detail) == (Reason.TOO_LARGE, True)


def test_an_unreadable_line_is_foreign_in_a_log_and_dead_among_records() -> None:
    """A blank line is nothing in either."""
    foreign, blank = Line(1, b"hello", 5), Line(2, b"  ", 2)
    records, log = LineReader(INTAKE, Form.RECORDS), LineReader(INTAKE, Form.LOG)
    assert isinstance(records.read(foreign), Rejected)
    assert log.read(foreign) is None
    assert records.read(blank) is None
    assert log.read(blank) is None


WRAPPED = b'{"log":"x","type":"usage","id":"u","ts":1786590480,"model":"m","total_tokens":5}'
PLAIN = b'{"type":"usage","id":"u","ts":1786590480,"model":"m","total_tokens":5}'


@pytest.mark.parametrize(
    ("lines", "read"),
    [([PLAIN], 1), ([PLAIN, PLAIN], 2), ([PLAIN, WRAPPED], None), ([WRAPPED, PLAIN], None), ([WRAPPED, WRAPPED], None)],
)
def test_what_docker_wrapped_is_not_read_as_it_stands(lines: list[bytes], read: int | None) -> None:
    """Wherever it stands, and even if it would pass for an event."""
    block = Block(1, b"\n".join(lines), len(lines))
    calls = LineReader(INTAKE, Form.RECORDS).read_usage([block])
    assert (None if calls is None else len(calls.ats)) == read


@given(st.binary(min_size=1), st.integers(1, 64))
def test_the_partition_is_the_one_kafkas_clients_choose(key: bytes, partitions: int) -> None:
    """A twin sent by another producer meets its twin."""
    everywhere = list(range(partitions))
    assert partition_of(key, partitions) == DefaultPartitioner()(key, everywhere, everywhere)


# The vectors of Kafka's own tests.
HASHES = [
    ("21", -973932308),
    ("foobar", -790332482),
    ("a-little-bit-long-string", -985981536),
    ("a-little-bit-longer-string", -1486304829),
    ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    ("abc", 479470107),
]


@pytest.mark.parametrize(("key", "hashed"), HASHES)
def test_the_partition_is_the_one_the_java_client_chooses(key: str, hashed: int) -> None:
    """Positive part of the hash, by the number of partitions."""
    assert [partition_of(key.encode(), count) for count in (1, 8, 13)] == [
        (hashed & 0x7FFFFFFF) % n for n in (1, 8, 13)
    ]
