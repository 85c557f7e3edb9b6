"""A dashboard around its panels: variables, links, and a place for each panel on a grid 24 wide."""

from __future__ import annotations

from typing import Any

from dashboards.make.panels import Panel
from dashboards.make.queries import SOURCE

WIDTH = 24
SCHEMA = 42  # newer Grafanas convert it when they load it

Row = tuple[int, list[tuple[int, Panel]]]
"""A height, and panels with their widths."""


def board(
    name: str,
    title: str,
    says: str,
    rows: list[Row],
    *,
    seen: str,
    choices: list[dict[str, Any]] | None = None,
    marks: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The dashboard; `seen` is a metric that every instance shown here has."""
    return {
        "uid": f"blastdoor-{name}",
        "title": f"Blastdoor: {title}",
        "description": says,
        "tags": ["blastdoor"],
        "timezone": "browser",
        "editable": False,
        "graphTooltip": 1,
        "schemaVersion": SCHEMA,
        "version": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "links": [_to_the_others()],
        "annotations": {"list": marks or []},
        "templating": {"list": [_source(), *_jobs(seen), *(choices or [])]},
        "panels": list(_placed(rows)),
    }


def choice(name: str, label: str, query: str, *, several: bool) -> dict[str, Any]:
    """A variable whose values come from a query."""
    chosen = {"text": "All", "value": "$__all"} if several else {}
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "refresh": 2,
        "includeAll": several,
        "multi": several,
        "allValue": ".+" if several else None,
        "current": chosen,
        "sort": 1,
    }


def _source() -> dict[str, Any]:
    current = {"text": "Prometheus", "value": "blastdoor-prom"}
    return {
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "current": current,
    }


def _jobs(seen: str) -> list[dict[str, Any]]:
    return [
        choice("job", "Job", f"label_values({seen}, job)", several=True),
        choice("instance", "Instance", f'label_values({seen}{{job=~"$job"}}, instance)', several=True),
    ]


def _to_the_others() -> dict[str, Any]:
    return {
        "title": "Blastdoor",
        "type": "dashboards",
        "tags": ["blastdoor"],
        "asDropdown": True,
        "includeVars": False,
        "keepTime": True,
    }


def _placed(rows: list[Row]) -> Any:
    number, top = 0, 0
    for height, panels in rows:
        left = 0
        for width, panel in panels:
            number += 1
            yield {"id": number, **panel, "gridPos": {"h": height, "w": width, "x": left, "y": top}}
            left += width
        top += height
