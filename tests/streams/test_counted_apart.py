"""A recording counted in a process of its own."""

from __future__ import annotations

import os
import signal
from multiprocessing import active_children
from pathlib import Path

import pytest

from rules.counting import Between, Counted
from rules.policy import Policy
from streams.counted_apart import ReaderDied, Recorded
from streams.ship.sources import UnreadableSource

SAMPLES = Path(__file__).parents[2] / "streams" / "samples"
FILES = (SAMPLES / "incident-2026-08-12.log", SAMPLES / "incident-2026-08-13.log")


def counted(*, apart: bool) -> tuple[list[Counted | Between], Recorded, list[tuple[Path, int]]]:
    told: list[tuple[Path, int]] = []
    recorded = Recorded(FILES, Policy(), None, apart=apart)
    return list(recorded.counted(lambda *at: told.append(at))), recorded, told


def test_apart_is_as_together() -> None:
    """What another process counts, tells of its progress and sums up is what this one would have."""
    (here, recorded, told), (there, others, their) = counted(apart=False), counted(apart=True)
    assert there == here
    assert others.closing == recorded.closing
    assert recorded.closing.counts.counted > 0
    assert their == told


def test_its_complaint_is_raised_here(tmp_path: Path) -> None:
    """A file that cannot be read is the same mistake wherever it is read."""
    gone = Recorded([tmp_path / "none.jsonl"], Policy(), None, apart=True)
    with pytest.raises(UnreadableSource, match="none"):
        list(gone.counted(lambda *_: None))


def test_whoever_wants_no_more_ends_it() -> None:
    """A reader that is not listened to ends with the pipe and leaves no process behind."""
    before = active_children()
    some = Recorded(FILES, Policy(), None, apart=True).counted(lambda *_: None)
    next(some)
    some.close()  # type: ignore[attr-defined]
    assert active_children() == before


def test_a_death_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader killed in the middle is told as that, and not as a short recording."""
    monkeypatch.setattr(Recorded, "_count", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(ReaderDied):
        list(Recorded(FILES, Policy(), None, apart=True).counted(lambda *_: None))
