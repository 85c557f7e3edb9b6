"""The kinds of panel in use. Each has a title, a meaning, a unit, thresholds where a value can be good or bad, and
words for the state without data."""

from __future__ import annotations

from typing import Any

from dashboards.make.queries import SOURCE, lettered

Panel = dict[str, Any]
Query = dict[str, Any]

GREEN, YELLOW, ORANGE, RED, BLUE, GREY = "green", "yellow", "orange", "red", "blue", "text"
ACTION_COLOURS = {
    "allow": GREEN,
    "warn": YELLOW,
    "degrade": ORANGE,
    "block": RED,
    "kill": "dark-red",
    "unknown": "purple",
}
NO_DATA = "no data yet"


def steps(*pairs: tuple[float | None, str]) -> dict[str, Any]:
    """Colours from these values on; the first one, from None, is that below all others."""
    return {"mode": "absolute", "steps": [{"color": colour, "value": value} for value, colour in pairs]}


PLAIN = steps((None, GREY))
ANY_IS_BAD = steps((None, GREEN), (1, RED))
ANY_IS_ODD = steps((None, GREEN), (1, YELLOW))
ZERO_IS_BAD = steps((None, RED), (1, GREEN))
SHARE = steps((None, GREEN), (0.8, YELLOW), (1, RED))


def _panel(
    kind: str, title: str, says: str, queries: list[Query], unit: str, limits: dict[str, Any], empty: str
) -> Panel:
    return {
        "type": kind,
        "title": title,
        "description": says,
        "datasource": SOURCE,
        "fieldConfig": {
            "defaults": {"unit": unit, "noValue": empty, "thresholds": limits, "color": {"mode": "thresholds"}},
            "overrides": [],
        },
        "options": {},
        "targets": lettered(queries),
    }


def stat(
    title: str, says: str, query: Query, *, unit: str = "short", limits: dict[str, Any] = PLAIN, empty: str = NO_DATA
) -> Panel:
    """One number."""
    panel = _panel("stat", title, says, [query], unit, limits, empty)
    panel["options"] = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "none",
        "textMode": "auto",
    }
    return panel


def graph(
    title: str,
    says: str,
    *queries: Query,
    unit: str = "short",
    limits: dict[str, Any] = PLAIN,
    empty: str = NO_DATA,
    stacked: bool = False,
) -> Panel:
    """Lines over time. Limits other than plain are drawn."""
    panel = _panel("timeseries", title, says, list(queries), unit, limits, empty)
    defaults = panel["fieldConfig"]["defaults"]
    defaults["color"] = {"mode": "palette-classic"}
    defaults["min"] = 0
    defaults["custom"] = {
        "lineWidth": 1,
        "fillOpacity": 20 if stacked else 0,
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "off" if limits is PLAIN else "line"},
    }
    panel["options"] = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return panel


def table(
    title: str,
    says: str,
    *queries: Query,
    columns: dict[str, str],
    unit: str = "short",
    empty: str = NO_DATA,
    most_first: str | None = None,
) -> Panel:
    """Rows, joined by the labels that the queries share; `columns` names those shown, in order."""
    panel = _panel("table", title, says, list(queries), unit, PLAIN, empty)
    panel["options"] = {"showHeader": True, "cellHeight": "sm"}
    if most_first is not None:
        panel["options"]["sortBy"] = [{"displayName": most_first, "desc": True}]
    kept = {
        "id": "organize",
        "options": {
            "indexByName": {name: place for place, name in enumerate(columns)},
            "renameByName": columns,
            "includeByName": dict.fromkeys(columns, True),
        },
    }
    joined = [{"id": "merge", "options": {}}] if len(queries) > 1 else []
    panel["transformations"] = [*joined, kept]
    return panel


def matrix(
    title: str, says: str, query: Query, *, row: str, column: str, unit: str = "short", empty: str = NO_DATA
) -> Panel:
    """A table of one number by two labels."""
    panel = _panel("table", title, says, [query], unit, PLAIN, empty)
    panel["options"] = {"showHeader": True, "cellHeight": "sm"}
    fields = {"columnField": column, "rowField": row, "valueField": "Value", "emptyValue": "null"}
    panel["transformations"] = [{"id": "groupingToMatrix", "options": fields}]
    return panel


def pie(
    title: str, says: str, *queries: Query, unit: str = "short", empty: str = NO_DATA, legend: str = "right"
) -> Panel:
    """Shares of a whole; `legend`: where it stands."""
    panel = _panel("piechart", title, says, list(queries), unit, PLAIN, empty)
    panel["fieldConfig"]["defaults"]["color"] = {"mode": "palette-classic"}
    panel["options"] = {
        "pieType": "donut",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "legend": {"displayMode": "table", "placement": legend, "showLegend": True, "values": ["value", "percent"]},
        "tooltip": {"mode": "single", "sort": "none"},
    }
    return panel


def bars(
    title: str, says: str, query: Query, *, unit: str, limits: dict[str, Any], most: float, empty: str = NO_DATA
) -> Panel:
    """A bar for each name."""
    panel = _panel("bargauge", title, says, [query], unit, limits, empty)
    panel["fieldConfig"]["defaults"] |= {"min": 0, "max": most}
    panel["options"] = {
        "orientation": "horizontal",
        "displayMode": "basic",
        "valueMode": "color",
        "showUnfilled": True,
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return panel


def coloured(panel: Panel, colours: dict[str, str]) -> Panel:
    """The panel with fixed colours for series of these names."""
    panel["fieldConfig"]["overrides"] += [
        {
            "matcher": {"id": "byName", "options": name},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
        for name, colour in colours.items()
    ]
    return panel


def banded(panel: Panel, low: str, high: str) -> Panel:
    """The panel with the space between two series filled."""
    panel["fieldConfig"]["overrides"].append(
        {
            "matcher": {"id": "byName", "options": high},
            "properties": [{"id": "custom.fillBelowTo", "value": low}, {"id": "custom.fillOpacity", "value": 15}],
        }
    )
    return panel
