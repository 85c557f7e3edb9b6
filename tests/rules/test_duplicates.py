"""Duplicate events within a window of offsets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rules.duplicates import LONGEST, SPARE, DuplicateWindow, contents

LOGS = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def expected(log: list[str], offset: int, window: int) -> bool:
    """The definition, word by word."""
    return log[offset] in log[max(0, offset - window) : offset]


def stood(window: DuplicateWindow, event_id: str, offset: int, said: int = 0) -> bool:
    """Note an id; whether it is a duplicate."""
    return window.fresh([event_id], [offset], [said]) == [False]


def content(model: str, tokens: int) -> int:
    call: Any = SimpleNamespace(model=model, total_tokens=tokens)
    return contents([call])[0]


@given(LOGS, st.integers(1, 20))
def test_a_duplicate_stood_within_the_window_before(log: list[str], window: int) -> None:
    """An id is a duplicate exactly if it stands at one of the `window` offsets before."""
    seen = DuplicateWindow(window)
    assert [stood(seen, event_id, offset) for offset, event_id in enumerate(log)] == [
        expected(log, offset, window) for offset in range(len(log))
    ]


@given(LOGS, st.integers(1, 20), st.data())
def test_reading_the_window_back_decides_as_before(log: list[str], window: int, data: st.DataObject) -> None:
    """A restart that reads the last `window` offsets back answers as if it had never stopped."""
    cut = data.draw(st.integers(0, len(log)))
    seen = DuplicateWindow(window)
    for offset in range(max(0, cut - window), cut):
        stood(seen, log[offset], offset)
    assert [stood(seen, log[offset], offset) for offset in range(cut, len(log))] == [
        expected(log, offset, window) for offset in range(cut, len(log))
    ]


@given(st.lists(st.integers(0, 10_000), min_size=1), st.integers(1, 50))
def test_memory_is_bounded_by_the_window(ids: list[int], window: int) -> None:
    """After trimming, no more ids are kept than the window has offsets, and an eighth of that."""
    seen = DuplicateWindow(window)
    for offset, event_id in enumerate(ids):
        stood(seen, str(event_id), offset)
        seen.trim(offset + 1)
        assert len(seen) <= window + window // SPARE


def test_the_same_offset_again_is_no_duplicate_of_itself() -> None:
    """Reading a stretch of the log again does not turn events into duplicates of themselves."""
    seen = DuplicateWindow()
    assert not stood(seen, "a", 7)
    assert not stood(seen, "a", 7)


def test_long_ids_are_told_apart_and_take_no_more_room() -> None:
    """Of an id of any length a digest is kept; it finds its twin, alone and in a batch."""
    seen, first, second = DuplicateWindow(), "x" * 10_000 + "1", "x" * 10_000 + "2"
    assert seen.fresh([first, "short"], [0, 1], [0, 0]) == [True, True]
    assert not stood(seen, second, 2)
    assert stood(seen, first, 3)
    assert seen.fresh([second, "other"], [4, 5], [0, 0]) == [False, True]
    assert max(len(key) for key in seen._last) <= LONGEST


def test_a_duplicate_that_says_something_else_is_noticed() -> None:
    """It is one all the same; what differs is counted, once for each."""
    seen, said = DuplicateWindow(), content("m", 7)
    assert seen.fresh(["a", "b"], [0, 1], [said, said]) == [True, True]
    assert stood(seen, "a", 2, content("m", 7))
    assert seen.differing == 0
    assert stood(seen, "a", 3, content("m", 8))
    assert stood(seen, "b", 4, content("other", 7))
    assert seen.differing == 2
