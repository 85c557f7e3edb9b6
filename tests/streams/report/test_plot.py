"""The picture has what it should show, in colours and dashes that everybody tells apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rules.calendar import Calendar
from rules.formulas import FORMULAS
from rules.hindsight import Seen
from streams.report.plot import POINTS, STYLES, draw
from streams.report.plot import _thinned as thinned

pytest.importorskip("matplotlib")
ZONE = Calendar().zone
START = 1_786_550_400_000


def seen(minute: int, **more: Any) -> Seen:
    fields = {
        "day": "2026-08-13", "base": 0, "low": 900_000, "high": 1_000_000, "cap": 2_000_000, "buffer": 0, "since": 0,
        "limits": {"interval": 890_000, "v2": 700_000, "v5": 700_000, "v6": None},
    }  # fmt: skip
    return Seen(scope="model:m", at=START + minute * 60_000, total=minute * 100, **fields | more)


def picture(tmp_path: Path, rulings: list[Seen], models: int = 1) -> str:
    path = tmp_path / "picture.svg"
    named = {f"model {number}": rulings for number in range(models)}
    draw(path, named, {"model 0": [(START, 1_000_000)]}, ZONE)
    return path.read_text(encoding="utf-8")


def texts(svg: str) -> set[str]:
    return set(re.findall(r">([^<>]+)</text>", svg))


def test_everything_is_labelled(tmp_path: Path) -> None:
    """Used, the pool, the readings and each limit; formulas that say the same share a line."""
    found = texts(picture(tmp_path, [seen(number) for number in range(60)]))
    wanted = {"used", "pool", "reading: balance + used", "limit interval", "limit v2, v5", "limit v6", "model 0"}
    assert wanted <= found
    assert "million tokens of the day" in found


def test_each_model_has_a_panel(tmp_path: Path) -> None:
    """In one picture."""
    assert {"model 0", "model 1", "model 2"} <= texts(picture(tmp_path, [seen(number) for number in range(9)], 3))


def test_the_same_recording_gives_the_same_picture(tmp_path: Path) -> None:
    """Byte by byte, so that it can lie in a repository."""
    rulings = [seen(number) for number in range(60)]
    assert picture(tmp_path, rulings) == picture(tmp_path, rulings)


def test_unknown_ends_and_a_single_ruling_are_drawn(tmp_path: Path) -> None:
    """A cold start and a recording of one line make no picture fail."""
    cold = [seen(number, low=None, high=None, limits=dict.fromkeys(FORMULAS)) for number in range(3)]
    assert "used" in texts(picture(tmp_path, cold))
    assert "used" in texts(picture(tmp_path, [seen(0)]))


def test_a_new_day_begins_a_new_line(tmp_path: Path) -> None:
    """What was used on two days is no zigzag, and is named once."""
    rulings = [seen(0), seen(10), seen(20, day="2026-08-14", base=2_000), seen(30, day="2026-08-14", base=2_000)]
    assert picture(tmp_path, rulings).count(">used</text>") == 1


def test_pictures_may_be_png(tmp_path: Path) -> None:
    """By the name's ending."""
    path = tmp_path / "picture.png"
    draw(path, {"m": [seen(0), seen(9)]}, {}, ZONE)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_lines_are_told_apart() -> None:
    """Every formula has a colour or a dash of its own; v5 is v2 under another name."""
    assert set(STYLES) == set(FORMULAS)
    assert len({style for name, style in STYLES.items() if name != "v5"}) == len(FORMULAS) - 1


def test_long_recordings_are_thinned() -> None:
    """What is kept: enough for the eye, the first and the last, and each change of a limit or a day."""
    rulings = [seen(number) for number in range(4 * POINTS)]
    rulings[5] = seen(5, limits={"interval": 1, "v2": 1, "v5": 1, "v6": 1})
    kept = thinned(rulings)
    assert len(kept) <= POINTS
    for wanted in (rulings[0], rulings[5], rulings[6], rulings[-1]):
        assert any(point is wanted for point in kept)
