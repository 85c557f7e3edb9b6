"""The pictures in docs/screens are those of the cards that the code makes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DRAWING = Path(__file__).parents[2] / "docs" / "screens" / "draw.py"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """The script that draws them."""
    spec = importlib.util.spec_from_file_location("draw", DRAWING)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_are_those_of_the_golden_cards(drawing: ModuleType) -> None:
    """A changed card is a changed picture: run docs/screens/draw.py."""
    found = dict(drawing.pictures())
    assert {path.name for path in DRAWING.parent.glob("*.svg")} == {path.name for path in found}
    assert [path.name for path, picture in found.items() if path.read_text() != picture] == []


def test_no_text_leaves_its_picture(drawing: ModuleType) -> None:
    """Lines are broken so that they fit, and none is lost."""
    text = "模型 deepseek-v4-flash：已用 1,998,412 · 返还 1,696,135 " * 5 + "x" * 100
    lines = list(drawing.wrapped(text))
    assert max(map(drawing.width, lines)) <= drawing.WIDTH - 2 * drawing.MARGIN
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)


def test_the_page_shows_every_picture(drawing: ModuleType) -> None:
    """docs/alerts.md has them all."""
    page = (DRAWING.parents[1] / "alerts.md").read_text()
    assert [path.name for path, _ in drawing.pictures() if f"screens/{path.name}" not in page] == []
