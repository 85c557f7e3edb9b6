"""A recording read in lots is the recording read line by line."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.calendar import Calendar
from rules.calls import Calls
from streams.recording import Recording
from streams.ship import sources

NOON = 1_786_593_600


def event(number: int, **more: object) -> bytes:
    told = {"type": "usage", "id": f"id-{number}", "ts": NOON + number * 7, "model": "m", "total_tokens": number}
    return json.dumps(told | more).encode()


def reading(number: int) -> bytes:
    told = {"type": "balance", "id": f"bal-{number}", "ts": NOON + number * 7, "model": "m", "available": 5}
    return json.dumps(told).encode()


NUMBERS = st.integers(0, 40)
LINES = st.one_of(
    NUMBERS.map(event),
    NUMBERS.map(event),
    NUMBERS.map(reading),
    NUMBERS.map(lambda number: event(number) + b"\r"),
    NUMBERS.map(lambda number: event(number) + event(number + 1)),
    NUMBERS.map(lambda number: json.dumps({"log": event(number).decode() + "\n", "stream": "stdout"}).encode()),
    NUMBERS.map(lambda number: event(number, ts=NOON + 900 * 86_400)),
    st.sampled_from([b"", b"{", b"nonsense", b'{"type":"usage"}']),
)


def told(recording: Recording, *, in_lots: bool) -> list[Any]:
    """What is common to a call as a record and as it is written: its time, its id and its tokens."""
    found: list[Any] = []
    for each in recording.lots if in_lots else recording.records:
        calls = each if isinstance(each, Calls) else Calls([each], [each.at])  # type: ignore[list-item]
        for call, at in zip(calls.calls, calls.ats, strict=True):
            found.append((at, getattr(call, "id", None), getattr(call, "total_tokens", None)))
    return found


@pytest.mark.parametrize("chunk", [64, 300, 256 * 1024])
@given(lines=st.lists(LINES, max_size=30))
def test_a_recording_is_the_same_in_lots_as_line_by_line(chunk: int, lines: list[bytes]) -> None:
    """The same records with the same clock between them, the same count of what cannot be read, the same places."""
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "CHUNK", chunk)
        path = Path(directory) / "recording.jsonl"
        path.write_bytes(b"\n".join([event(0), event(1), *lines]))
        whole, single = (Recording([path], Calendar().zone) for _ in range(2))
        assert told(whole, in_lots=True) == told(single, in_lots=False)
        assert (whole.found, whole.rejected, whole.complaint) == (single.found, single.rejected, single.complaint)
        assert whole.origins == single.origins
