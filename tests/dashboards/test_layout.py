"""Dashboards on a screen of 1440 x 900: nothing overlaps, nothing is too narrow to be read."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from tests.dashboards.boards import BOARDS, panels

COLUMN = (1440 - 60) / 24  # pixels, beside the menu
LETTER = 7.6  # of a panel's title
FIRST_SCREEN = 19  # rows of 38 pixels below the header
LEAST = {"stat": (3, 3), "table": (8, 6), "timeseries": (8, 6), "piechart": (8, 6), "bargauge": (8, 6)}
PLAIN_COLOURS = {"#", "rgb"}


@pytest.mark.parametrize("name", BOARDS)
def test_panels_lie_side_by_side(name: str) -> None:
    """Within 24 columns, none over another, no row with a hole at its end."""
    places = [panel["gridPos"] for panel in BOARDS[name]["panels"]]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    assert [pair for pair in combinations(places, 2) if _overlap(*pair)] == []
    tops = {place["y"] for place in places}
    assert all(sum(place["w"] for place in places if place["y"] == top) == 24 for top in tops)


@pytest.mark.parametrize("panel", [pytest.param(each, id=f"{name}: {each['title']}") for name, each in panels()])
def test_a_panel_can_be_read(panel: dict[str, Any]) -> None:
    """It is as large as its kind needs, its title fits, and its colours are Grafana's own, for the dark theme and the
    light one."""
    width, height = LEAST[panel["type"]]
    assert panel["gridPos"]["w"] >= width
    assert panel["gridPos"]["h"] >= height
    assert len(panel["title"]) * LETTER <= panel["gridPos"]["w"] * COLUMN - 32
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert not any(step["color"].startswith(tuple(PLAIN_COLOURS)) for step in steps)
    values = [step["value"] for step in steps[1:]]
    assert values == sorted(values)


@pytest.mark.parametrize("name", BOARDS)
def test_the_first_screen_tells_the_most_important(name: str) -> None:
    """A row of numbers at the top, and a larger picture that is whole without scrolling."""
    first = [panel for panel in BOARDS[name]["panels"] if panel["gridPos"]["y"] == 0]
    assert {panel["type"] for panel in first} == {"stat"}
    whole = [each for each in BOARDS[name]["panels"] if each["gridPos"]["y"] + each["gridPos"]["h"] <= FIRST_SCREEN]
    assert {panel["type"] for panel in whole} - {"stat"}


def test_dashboards_are_told_apart() -> None:
    """No two have the same id or title; panels of one have ids and titles of their own."""
    for field in ("uid", "title"):
        assert len({board[field] for board in BOARDS.values()}) == len(BOARDS)
    for board in BOARDS.values():
        for field in ("id", "title"):
            found = [panel[field] for panel in board["panels"]]
            assert len(found) == len(set(found))


def _overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    return (
        one["x"] < other["x"] + other["w"]
        and other["x"] < one["x"] + one["w"]
        and one["y"] < other["y"] + other["h"]
        and other["y"] < one["y"] + one["h"]
    )
