"""Many messages at once: the same answers as one by one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rules.intake.fields import Unfit, instant, instants
from rules.intake.reader import Intake, are_alike
from rules.records import Rejected, Usage

OFFSETS = [UTC, timezone(timedelta(hours=8)), timezone(timedelta(hours=-3, minutes=-30))]
GOOD = {"type": "usage", "id": "req-1", "ts": "2026-08-13T11:08:00.123+08:00", "model": "m", "total_tokens": 1500}


def event(**more: object) -> bytes:
    return json.dumps(GOOD | more, ensure_ascii=False).encode()


READING = json.dumps({"type": "balance", "id": "b", "ts": 1_786_593_600, "model": "m", "available": 1}).encode()

SOUND = [
    event(),
    event(id="req-2", tenant="中文"),
    event(total_tokens=None, prompt_tokens=1, completion_tokens=2),
    event(ts=1_786_593_600.5),
    event(ts="2026-08-13T03:08:00Z"),
    event(ts="2026-08-13T11:08:00"),
    event(note="a\\nb"),
    event(tenant="C:\\\\new"),
    READING,
]
UNSOUND = [
    b"",
    b" ",
    b"{}",
    b"not json",
    event() + b"\n" + event(),
    event() + b"\n",
    b"\n" + event(),
    event().replace(b"req", b"r\xff"),
    event(id="a\nb"),
    event(id="a\x7fb"),
    event(id=""),
    event(id=" "),
    event(total_tokens=1, prompt_tokens=2),
    event(ts="1999-01-01T00:00:00Z"),
    b"2026-08-13 00:10:00 [PRE-BLOCK] m",
]


@given(st.lists(st.sampled_from([*SOUND, *UNSOUND]), max_size=12))
@example([b"", event() + b"\n" + event()])  # as many lines as messages, and as many objects
@example([event()[:40], event()[40:]])  # two halves of one
@example([b"[", b"]"])
@example([b"", event() + event()])
@example([event()[:40], event()[40:] + event()])
@example([event()[:-1] + b',"more":{}', b"}" + event()])
@example([event(note="x")[:-3] + b"}", b'{"' + event()[1:]])
@example([event(more=[])[:-2], b"{}]}" + event()])
def test_a_batch_is_read_as_its_messages_are(intake: Intake, raws: list[bytes]) -> None:
    """Whatever stands beside it, a message has the same answer."""
    answers = [intake.read(raw) for raw in raws]
    assert intake.read_batch(raws) == answers
    calls = intake.read_usage(raws)
    assert calls is None or calls.ats == [usage.at for usage in answers if isinstance(usage, Usage)]
    lines = b"\n".join(raws)
    answers = [intake.read(line) for line in lines.split(b"\n")]
    calls = intake.read_usage_lines(lines, lines.count(b"\n") + 1)
    assert calls is None or calls.ats == [usage.at for usage in answers if isinstance(usage, Usage)]


LINES = st.sampled_from([event(), event(id="req-2"), READING, event()[:40], event()[40:], b"{}", b'{"a":1}', b""])


@given(st.lists(LINES, min_size=1, max_size=6))
@example([event(), event(id="req-2")])
@example([b'{"a":1}', b'{"a":1}'])
@example([event()[:-1] + b',"more":{}', b"}" + event()])
def test_what_lines_have_in_common_changes_no_answer(intake: Intake, raws: list[bytes]) -> None:
    """Alike are only lines that end like objects and begin as the first does; they are read as they were without it."""
    lines, count = b"\n".join(raws), len(raws)
    alike = are_alike(lines, count)
    assert not alike or all(raw.endswith(b"}") for raw in raws[:-1])
    assert not alike or all(raw[:15] == raws[0][:15] for raw in raws)
    assert intake.read_usage_lines(lines, count, alike=alike) == intake.read_usage_lines(lines, count)


@given(st.lists(st.binary(max_size=30), max_size=6))
def test_a_batch_of_anything_never_raises(intake: Intake, raws: list[bytes]) -> None:
    """Bytes of no meaning are answered one by one."""
    assert intake.read_batch(raws) == [intake.read(raw) for raw in raws]


@pytest.mark.parametrize("raw", SOUND)
def test_what_is_sound_is_read_at_once(intake: Intake, monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """No message of ours is read twice: not for its time, its nulls, its escapes or its letters."""
    monkeypatch.setattr(Intake, "read", None)
    (found,) = intake.read_batch([raw])
    assert not isinstance(found, Rejected)


def test_an_offset_of_nothing_is_no_missing_one(intake: Intake) -> None:
    """`Z` is UTC; only a time without any offset is one of the configured zone."""
    utc, configured = intake.read_batch([event(ts="2026-08-13T11:08:00Z"), event(ts="2026-08-13T11:08:00")])
    assert isinstance(utc, Usage)
    assert isinstance(configured, Usage)
    assert utc.at - configured.at == 8 * 3_600_000


FIRST, LAST = datetime.fromisoformat("1999-12-31"), datetime.fromisoformat("2100-01-02")
WHENS = st.one_of(
    st.datetimes(FIRST, LAST, timezones=st.just(None) | st.sampled_from(OFFSETS)),
    st.floats(946_684_800, 4_102_444_799),
)


@given(st.lists(WHENS, min_size=1, max_size=5))
@example([datetime(2026, 8, 13, 11, 8, 0, 900, UTC), datetime(2026, 8, 13, 11, 8, tzinfo=UTC)])
def test_times_of_many_are_as_those_of_each(whens: list[datetime | float]) -> None:
    """Whatever stands beside it, a time is the same instant, or as unfit."""
    zone = ZoneInfo("Europe/Berlin")
    try:
        expected = [instant("ts", when, zone) for when in whens]
    except Unfit:
        with pytest.raises(Unfit):
            instants("ts", whens, zone)
    else:
        assert instants("ts", whens, zone) == expected
