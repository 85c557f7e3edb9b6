"""The dashboards as they lie in the tree, taken apart for the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboards" / "grafana"
BOARDS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
METRIC = re.compile(r"\bblastdoor_[a-z_]+")
SELECTOR = re.compile(r"\b(blastdoor_[a-z_]+)(\{[^}]*\})?")


class Asked(NamedTuple):
    """A query and where it stands."""

    board: str
    panel: str
    query: str

    @property
    def place(self) -> str:
        return f"{self.board}: {self.panel}"


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every panel with the name of its dashboard."""
    return ((name, panel) for name, board in BOARDS.items() for panel in board["panels"])


def asked() -> list[Asked]:
    """Every query of every panel and annotation."""
    found = [Asked(name, panel["title"], target["expr"]) for name, panel in panels() for target in panel["targets"]]
    marks = ((name, mark) for name, board in BOARDS.items() for mark in board["annotations"]["list"])
    return found + [Asked(name, mark["name"], mark["expr"]) for name, mark in marks]


def variables(board: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The variables of a kind."""
    return {each["name"]: each for each in board["templating"]["list"] if each["type"] == kind}


def spoken(query: str, window: str = "5m", span: str = "1h") -> str:
    """The query as Grafana sends it when nothing is narrowed down."""
    for name, value in (("$__rate_interval", window), ("$__range", span), ("$__interval", "15s")):
        query = query.replace(name, value)
    return re.sub(r"\$(job|instance|model|tenant)\b", ".+", query)
