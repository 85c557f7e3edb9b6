"""What facts carry about the way they came."""

from __future__ import annotations

import pytest

from rules.calendar import Calendar
from rules.intake.reader import Intake
from streams.delivery.step import Output
from streams.trails import SENT, TRACE, Arrivals, Departures, Trail, read_trail, scopes_of
from tests.streams.partition import Stored

TRACE_1 = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE_2 = b"00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00"
MODEL = Output("facts", 0, b"model:m|0|2026-08-13", b"{}")
MINUTES = Output("facts", 0, b"minutes|model:m|0|496276", b"{}")
WATERMARK = Output("facts", 0, b"watermark|usage|0", b"{}")


def usage(offset: int, model: str = "m", trace: bytes | None = None, tenant: str = "") -> Stored:
    value = '{"type":"usage","id":"%d","ts":1786593600,"model":"%s","total_tokens":1,"tenant":"%s"}'
    headers = () if trace is None else ((TRACE, trace),)
    return Stored(offset, (value % (offset, model, tenant)).encode(), 1_000 + offset, headers=headers)


def departures() -> Departures:
    return Departures(scopes_of(Intake(Calendar().zone), lambda name: name.removeprefix("volcengine/")))


def test_facts_tell_when_the_oldest_record_was_sent() -> None:
    """Sums of a model carry it; those of tenants, who are many, watermarks and minutes do not. The next flush begins
    anew."""
    leaving = departures()
    leaving.note([usage(0), usage(1)])
    leaving.note([usage(2)])
    marked = leaving.mark([MODEL, MINUTES, WATERMARK, MODEL._replace(key=b"tenant:acme|0|2026-08-13")])
    assert [output.headers for output in marked] == [((SENT, b"1000"),), (), (), ()]
    assert leaving.mark([MODEL]) == [MODEL]


def test_a_flush_without_outputs_keeps_the_time() -> None:
    """A recording is told at its ticks, long after the records came."""
    leaving = departures()
    leaving.note([usage(0)])
    assert leaving.mark([]) == []
    leaving.note([usage(5)])
    assert leaving.mark([MODEL])[0].headers == ((SENT, b"1000"),)


def test_a_trace_goes_with_its_own_scopes() -> None:
    """Of model and tenant, under their canonical names; the last traced call speaks for those before."""
    leaving = departures()
    leaving.note([usage(0, "volcengine/m", TRACE_1, "acme"), usage(1, "m", TRACE_2), usage(2, "other")])
    tenant, other = MODEL._replace(key=b"tenant:acme|0|d"), MODEL._replace(key=b"model:other|0|d")
    found = [dict(output.headers).get(TRACE) for output in leaving.mark([MODEL, tenant, other])]
    assert found == [TRACE_2, TRACE_1, None]


def test_traces_are_not_looked_for_unless_wanted() -> None:
    """Then no record is read twice, and none of their headers goes on."""
    leaving = Departures(None)
    leaving.note([usage(0, trace=TRACE_1)])
    assert leaving.mark([MODEL])[0].headers == ((SENT, b"1000"),)


@pytest.mark.parametrize(
    "trace",
    [
        b"",
        b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01",
        b"ff" + TRACE_1[2:],
        TRACE_1.upper(),
        TRACE_1 + b"-x" * 10_000,
        TRACE_1[:-1] + b"\n",
        b"\xff" * 55,
    ],
)
def test_a_broken_trace_goes_nowhere(trace: bytes) -> None:
    """What is no W3C trace context of version 00's shape is left out; what is counted stays the same."""
    assert read_trail([(TRACE, trace), (SENT, b"12")]) == Trail(12, None)


@pytest.mark.parametrize("sent", [b"", b"-1", b"1.5", b"9" * 40, b"\xb2"])
def test_a_broken_time_goes_nowhere(sent: bytes) -> None:
    """Only digits, and no more than a time has."""
    assert read_trail([(SENT, sent)]).sent is None


def test_a_judge_takes_the_oldest_time_and_the_newest_trace() -> None:
    """Of all facts of a scope since it was ruled on last; taken once."""
    arrived = Arrivals()
    for sent, trace in ((b"20", TRACE_1), (b"10", None), (b"30", TRACE_2)):
        headers = ((SENT, sent),) if trace is None else ((SENT, sent), (TRACE, trace))
        arrived.note(Stored(0, b"", 0, b"model:a|b|3|2026-08-13", headers))
    arrived.note(Stored(1, b"", 0, b"watermark|usage|0"))
    assert arrived.take("model:a|b") == Trail(10, TRACE_2)
    assert arrived.take("model:a|b") == Trail()


def test_what_was_no_news_is_forgotten() -> None:
    """Otherwise a later ruling would look as if it had taken hours."""
    arrived = Arrivals()
    arrived.note(Stored(0, b"", 0, b"model:m|3|d", ((SENT, b"1"),)))
    arrived.clear()
    assert arrived.take("model:m") == Trail()
