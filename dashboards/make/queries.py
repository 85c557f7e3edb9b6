"""Queries as the dashboards hold them: each selector is narrowed to the chosen jobs and instances."""

from __future__ import annotations

import re
from typing import Any

SOURCE = {"type": "prometheus", "uid": "$datasource"}
CHOSEN = 'job=~"$job", instance=~"$instance"'
_SELECTOR = re.compile(r"\b(blastdoor_[a-z_]+)(?:\{([^}]*)\})?")


def narrowed(query: str) -> str:
    """The query with `job` and `instance` in every selector."""

    def selector(found: re.Match[str]) -> str:
        name, labels = found.groups()
        return f"{name}{{{CHOSEN}, {labels}}}" if labels else f"{name}{{{CHOSEN}}}"

    return _SELECTOR.sub(selector, query)


def line(query: str, legend: str) -> dict[str, Any]:
    """A query over the time shown."""
    return {"expr": narrowed(query), "legendFormat": legend, "datasource": SOURCE}


def now(query: str, legend: str = "") -> dict[str, Any]:
    """A query of the present, as a number."""
    return line(query, legend) | {"instant": True, "range": False}


def rows(query: str) -> dict[str, Any]:
    """A query of the present, as rows of a table."""
    return now(query) | {"format": "table"}


def lettered(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A, B, C and so on: what transformations and overrides call them."""
    return [{"refId": chr(ord("A") + number), **query} for number, query in enumerate(queries)]
