"""Wrapped lines: container engines' and objects over several lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.ship.lines import LINE_LIMIT, Line, LineSplitter
from streams.ship.unwrap import Unwrapper

USAGE = "2026-08-13 11:22:08,900 INFO 📊 [Usage] m:h: +5 (Today: 5 | BalAtSync: 1 | Limit: 2)"


def docker(text: str, stream: str = "stdout") -> str:
    return json.dumps({"log": text, "stream": stream, "time": "2026-08-13T03:22:08.9Z"}, ensure_ascii=False)


def unwrapped(*lines: str) -> list[Line]:
    splitter, unwrapper = LineSplitter(), Unwrapper()
    found = [
        line for each in splitter.feed("".join(f"{line}\n" for line in lines).encode()) for line in unwrapper.feed(each)
    ]
    return [*found, *unwrapper.rest()]


def bodies(*lines: str) -> list[str]:
    return [line.body.decode() for line in unwrapped(*lines)]


def test_dockers_wrapping_is_taken_off() -> None:
    """The line as it was written, escapes undone, and under its own number."""
    assert unwrapped("first", docker(f"{USAGE}\n")) == [
        Line(1, b"first", 5),
        Line(2, USAGE.encode(), len(USAGE.encode())),
    ]


def test_pieces_of_a_long_line_are_put_together() -> None:
    """Docker cuts at 16 KiB; pieces of two streams may alternate."""
    lines = [docker("out 1 "), docker("err 1 ", "stderr"), docker("out 2\n"), docker("err 2\r\n", "stderr")]
    assert bodies(*lines) == ["out 1 out 2", "err 1 err 2"]


def test_kubernetes_wrapping_is_taken_off() -> None:
    """P marks a piece, F the last one."""
    stamp = "2026-08-13T03:22:08.900000001Z"
    assert bodies(f"{stamp} stdout P {USAGE[:30]}", f"{stamp} stdout F {USAGE[30:]}") == [USAGE]


def test_an_object_over_several_lines_is_one() -> None:
    """From a brace that stands alone to the one that ends it; also within an array, whose brackets are none of it."""
    pretty = json.dumps([{"a": {"b": 1}}, {"c": [2]}], indent=2).splitlines()
    flat = [line.removeprefix("  ") for line in pretty]
    assert [json.loads(body) for body in bodies(*flat)] == [{"a": {"b": 1}}, {"c": [2]}]


def test_a_record_cut_short_swallows_nothing() -> None:
    """It does not begin with a brace alone."""
    assert bodies('{"type":"usage",', '{"id":2}') == ['{"type":"usage",', '{"id":2}']


def test_an_object_without_an_end_is_bounded() -> None:
    """Thousands of lines are no object; what was begun at the end of a file is given as it is."""
    assert len(unwrapped("{", *["x"] * 5_000)) > 1
    assert bodies("{", '"a": 1') == ['{\n"a": 1\n']


def test_a_line_of_pieces_is_bounded() -> None:
    """Of one that is too long only the beginning is kept, and its size."""
    (line,) = unwrapped(*[docker("x" * 16_000)] * 20, docker("\n"))
    assert (line.size, line.is_too_large) == (320_000, True)
    assert len(line.body) <= LINE_LIMIT


@pytest.mark.parametrize("line", ['{"log":5}', '{"log":"x"', '{"log":null,"stream":"a"}', "{", "}", "]", ""])
def test_what_only_looks_wrapped_is_left_alone(line: str) -> None:
    """No line raises, whatever it holds."""
    assert len(unwrapped(line)) <= 1


@given(st.lists(st.text(alphabet='{}[]",:log stdou\\nF P0', max_size=30), max_size=30))
def test_any_lines(lines: list[str]) -> None:
    """Whatever comes, bytes are neither invented nor kept for ever."""
    found = unwrapped(*(line.replace("\n", "") for line in lines))
    assert len(found) <= len(lines)
