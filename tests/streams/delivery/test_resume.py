"""Where to go on in a log that may have changed under us."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from streams.delivery.resume import Found, Resume, fingerprint, resume
from streams.delivery.rows import Place


@dataclass(frozen=True)
class Stored:
    """A record on a log."""

    offset: int = 9
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp: int = 1_000
    headers: tuple[tuple[str, bytes], ...] = ()


LAST = Stored()
NOTHING_CONSUMED = Place(flush=1, incarnation=0, position=0)
PLACE = Place(flush=5, incarnation=2, position=10, record=fingerprint(LAST))
OTHER = replace(LAST, value=b"w")


@pytest.mark.parametrize(
    ("place", "found", "expected"),
    [
        pytest.param(None, Found(0, 50, None), Resume(0, 0), id="a first start begins at the log's begin"),
        pytest.param(None, Found(7, 50, None), Resume(7, 0), id="also behind what retention has deleted"),
        pytest.param(PLACE, Found(0, 50, LAST), Resume(10, 2), id="the same log goes on"),
        pytest.param(PLACE, Found(0, 10, LAST), Resume(10, 2), id="at its very end too"),
        pytest.param(PLACE, Found(0, 50, OTHER), Resume(0, 3, replaced=True), id="another record there: another log"),
        pytest.param(PLACE, Found(0, 9, None), Resume(0, 3, replaced=True), id="ends before our position: another log"),
        pytest.param(PLACE, Found(0, 0, None), Resume(0, 3, replaced=True), id="an empty log is another log"),
        pytest.param(PLACE, Found(10, 50, None), Resume(10, 2), id="retention reached our position"),
        pytest.param(PLACE, Found(11, 50, None), Resume(11, 2, lost=True), id="retention passed it: records are lost"),
        pytest.param(PLACE, Found(0, 50, replace(OTHER, offset=12)), Resume(10, 2), id="the record was compacted away"),
        pytest.param(PLACE, Found(0, 50, None), Resume(10, 2), id="all was compacted away"),
        pytest.param(NOTHING_CONSUMED, Found(0, 50, None), Resume(0, 0), id="nothing consumed yet"),
        pytest.param(NOTHING_CONSUMED, Found(3, 50, None), Resume(3, 0, lost=True), id="deleted unconsumed"),
    ],
)  # fmt: skip
def test_resume(place: Place | None, found: Found, expected: Resume) -> None:
    """The position row decides; offsets of another log mean nothing."""
    assert resume(place, found) == expected


@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        replace(LAST, key=b"K"),
        replace(LAST, timestamp=1_001),
        replace(LAST, key=None),
        replace(LAST, value=None),
        replace(LAST, key=b"", value=b"kv"),
        replace(LAST, key=b"kv", value=b""),
    ],
)
def test_a_fingerprint_tells_records_apart(other: Stored) -> None:
    """By time, key and value, and by where one ends and the other begins."""
    assert fingerprint(other) != fingerprint(LAST)


def test_a_fingerprint_does_not_depend_on_the_offset() -> None:
    """It is compared at one offset only."""
    assert fingerprint(replace(LAST, offset=3)) == fingerprint(LAST)
