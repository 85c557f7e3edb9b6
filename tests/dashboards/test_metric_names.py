"""No drift between the code that exports metrics, the page that explains them, and what uses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from dashboards.make.__main__ import files
from dashboards.make.metrics_page import PROCESSES, lines
from tests.dashboards.boards import BOARDS, METRIC, ROOT, asked, variables

EXPORTED = {line.name: line for _, process in PROCESSES for line in lines(process)}
KINDS = {name: line.kind for name, line in EXPORTED.items()}
SERIES = {
    *(name for name, kind in KINDS.items() if kind != "histogram"),
    *(f"{name}_{part}" for name, kind in KINDS.items() if kind == "histogram" for part in ("bucket", "sum", "count")),
}
PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
NOT_METRICS = {"blastdoor_gateway", "blastdoor_gate_", "blastdoor_usage_"}  # a package, and beginnings of names
OF_TENANTS = {"department", "knowledge_base", "user"}  # without bound, but where only the largest are shown
RULES = sorted((ROOT / "dashboards" / "prometheus").glob("*.yaml"))


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    """`make dashboards` would change nothing."""
    assert path.read_text(encoding="utf-8") == files()[path]


def test_no_dashboard_is_left_over() -> None:
    """Every file in the folder is one that is made."""
    assert {path for path in files() if path.suffix == ".json"} == set((ROOT / "dashboards" / "grafana").iterdir())


def test_dashboards_use_what_is_exported() -> None:
    """Every metric in a query, and in a variable's query."""
    chosen = [each["definition"] for board in BOARDS.values() for each in variables(board, "query").values()]
    used = {name for query in [each.query for each in asked()] + chosen for name in METRIC.findall(query)}
    assert used - SERIES == set()


def test_every_metric_is_on_a_dashboard() -> None:
    """What nobody looks at need not be exported."""
    used = {name for each in asked() for name in METRIC.findall(each.query)}
    seen = {re.sub(r"_(bucket|sum|count)$", "", name) if name not in KINDS else name for name in used}
    assert set(KINDS) - seen == set()


def test_rules_use_what_is_exported_or_recorded() -> None:
    """Every metric in an alert or a recording rule."""
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    rules = [rule for group in groups for rule in group["rules"]]
    recorded = {rule["record"] for rule in rules if "record" in rule}
    used = {name for rule in rules for name in re.findall(r"\b(?:[a-z_]+:)?blastdoor[a-z_:0-9]+", rule["expr"])}
    assert used - SERIES - recorded == set()


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_pages_name_what_is_exported(path: Path) -> None:
    """A name that does not exist sends a reader looking."""
    named = set(METRIC.findall(path.read_text(encoding="utf-8")))
    assert named - SERIES - set(KINDS) - NOT_METRICS == set()


@pytest.mark.parametrize("line", EXPORTED.values(), ids=EXPORTED)
def test_names_follow_prometheus(line: tuple[str, ...]) -> None:
    """One prefix, base units, `_total` for counters only, no label without bound, a meaning that is a sentence."""
    name, kind, unit, labels, meaning = line
    assert name.startswith("blastdoor_")
    assert name.endswith("_total") == (kind == "counter")
    assert not re.search(r"_(milli|micro|nano)|_(ms|us|minutes|hours|days|kb|mb|percent)(_|$)", name)
    assert unit
    named = {label.strip("` ") for label in labels.split(",")}
    assert not named & {"ip", "id"}
    assert name.startswith("blastdoor_usage_") or not named & OF_TENANTS
    assert meaning.endswith(".")
    assert f"| `{name}` |" in PAGE
