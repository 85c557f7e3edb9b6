"""Duplicate events within a window of offsets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rules.duplicates import DuplicateWindow

LOGS = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def expected(log: list[str], offset: int, window: int) -> bool:
    """The definition, word by word."""
    return log[offset] in log[max(0, offset - window) : offset]


@given(LOGS, st.integers(1, 20))
def test_a_duplicate_stood_within_the_window_before(log: list[str], window: int) -> None:
    """An id is a duplicate exactly if it stands at one of the `window` offsets before."""
    seen = DuplicateWindow(window)
    assert [seen.seen(event_id, offset) for offset, event_id in enumerate(log)] == [
        expected(log, offset, window) for offset in range(len(log))
    ]


@given(LOGS, st.integers(1, 20), st.data())
def test_reading_the_window_back_decides_as_before(log: list[str], window: int, data: st.DataObject) -> None:
    """A restart that reads the last `window` offsets back answers as if it had never stopped."""
    cut = data.draw(st.integers(0, len(log)))
    seen = DuplicateWindow(window)
    for offset in range(max(0, cut - window), cut):
        seen.seen(log[offset], offset)
    assert [seen.seen(log[offset], offset) for offset in range(cut, len(log))] == [
        expected(log, offset, window) for offset in range(cut, len(log))
    ]


@given(st.lists(st.integers(0, 10_000), min_size=1), st.integers(1, 50))
def test_memory_is_bounded_by_the_window(ids: list[int], window: int) -> None:
    """After trimming, no more ids are kept than the window has offsets."""
    seen = DuplicateWindow(window)
    for offset, event_id in enumerate(ids):
        seen.seen(str(event_id), offset)
        seen.trim(offset + 1)
        assert len(seen) <= window


def test_the_same_offset_again_is_no_duplicate_of_itself() -> None:
    """Reading a stretch of the log again does not turn events into duplicates of themselves."""
    seen = DuplicateWindow()
    assert not seen.seen("a", 7)
    assert not seen.seen("a", 7)
